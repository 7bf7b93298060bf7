// openid-client 6, as a web app with a refresh token would use it.
import * as oidc from 'openid-client';
import { giveCodes } from './authenticator-app.ts';
import { Person } from './person.ts';
import { check, ok, settings, version, versionOf } from './report.ts';

const { issuer, clientId, clientSecret, app, api } = settings;
version(versionOf('openid-client'));

const config = await oidc.discovery(new URL(issuer), clientId, clientSecret);
ok('discovery');

const person = new Person();
async function signIn(parameters, who = person) {
  const verifier = oidc.randomPKCECodeVerifier();
  const [state, nonce] = [oidc.randomState(), oidc.randomNonce()];
  const url = oidc.buildAuthorizationUrl(config, {
    redirect_uri: `${app}/callback`,
    state,
    nonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    ...parameters,
  });
  const { url: callback } = await who.open(url.href, app);
  return oidc.authorizationCodeGrant(config, new URL(callback), {
    pkceCodeVerifier: verifier,
    expectedState: state,
    expectedNonce: nonce,
  });
}

const scope = 'openid email profile offline_access';
const tokens = await signIn({ scope, prompt: 'consent' });
const { sub } = tokens.claims();
check(sub === 'usr_fixture_person_ida', 'sign-in with PKCE', tokens.claims());
const person1 = await oidc.fetchUserInfo(config, tokens.access_token, sub);
check(person1.name === 'Ida Fixture', 'userinfo', person1);

const refreshed = await oidc.refreshTokenGrant(config, tokens.refresh_token);
check(refreshed.refresh_token !== tokens.refresh_token, 'refresh');
const active = await oidc.tokenIntrospection(config, refreshed.access_token);
check(active.active, 'introspection', active);

// RFC 7009 §2.2: 200, and nothing in it that a client would read.
await oidc.tokenRevocation(config, refreshed.refresh_token);
const after = await oidc.tokenIntrospection(config, refreshed.access_token);
check(!after.active, 'revocation', after);

const nils = new Person('nils');
const acr = 'urn:postern:acr:second-factor';
const weak = (await signIn({ scope: 'openid' }, nils)).claims();
check(weak.acr === 'urn:postern:acr:password', 'acr and amr', weak);
nils.code = await giveCodes('usr_fixture_person_nils');
const strong = (await signIn({ scope: 'openid', acr_values: acr }, nils)).claims();
check(strong.acr === acr && strong.amr.includes('otp'), 'step-up by acr_values (RFC 9470)', strong);

const forApi = await signIn({ scope: 'openid reports.read', resource: api });
check(forApi.scope.includes('reports.read'), 'a token for an API (RFC 8707)', forApi.scope);

const logout = oidc.buildEndSessionUrl(config, {
  id_token_hint: forApi.id_token,
  post_logout_redirect_uri: `${app}/`,
  state: 'bye',
});
const { url: left } = await person.open(logout.href, app);
check(left === `${app}/?state=bye`, 'sign-out', left);

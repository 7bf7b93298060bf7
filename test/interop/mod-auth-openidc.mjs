// Apache with mod_auth_openidc: people sign in to a folder, and programs come to another with access tokens.
import { giveCodes } from './authenticator-app.ts';
import { debianVersion, startApache } from './apache.ts';
import { forge, machineToken } from './machine-token.ts';
import { postern } from './operator.ts';
import { Person } from './person.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, clientSecret, app, api } = settings;
version(await debianVersion('libapache2-mod-auth-openidc'));

const apache = await startApache(
  ['auth_openidc'],
  `
OIDCProviderMetadataURL ${issuer}/.well-known/openid-configuration
OIDCClientID ${clientId}
OIDCClientSecret "${clientSecret}"
OIDCProviderTokenEndpointAuth client_secret_basic
OIDCRedirectURI ${app}/private/callback
OIDCCryptoPassphrase fixture-of-the-session-cookie
OIDCScope "openid email profile groups offline_access"
OIDCAuthRequestParams prompt=consent
OIDCPKCEMethod S256
OIDCRemoteUserClaim preferred_username
OIDCCABundlePath CERTIFICATE
OIDCInfoHook access_token refresh_token userinfo id_token
OIDCDefaultURL ${app}/goodbye.html

OIDCOAuthIntrospectionEndpoint ${issuer}/oauth/introspect
OIDCOAuthClientID mod-auth-openidc-api
OIDCOAuthClientSecret "${clientSecret}"
OIDCOAuthRemoteUserClaim sub

<Location /private>
  AuthType openid-connect
  Require claim groups:staff
  Header always set X-User expr=%{REMOTE_USER}
</Location>
<Location /private/strong>
  OIDCPathAuthRequestParams acr_values=urn:postern:acr:second-factor
  OIDCUnAutzAction auth
  Require claim acr:urn:postern:acr:second-factor
</Location>
<Location /api>
  AuthType oauth20
  Require claim aud:${api}
  Header always set X-User expr=%{REMOTE_USER}
</Location>
`,
);
try {
  const person = new Person();
  const page = await person.open(`${app}/private/`);
  check(page.text === 'private/index.html', 'sign-in with PKCE', page);
  check(page.headers.get('x-user') === 'ida', 'REMOTE_USER by userinfo', page.headers.get('x-user'));

  const other = await new Person('otto').open(`${app}/private/`);
  check(other.status === 401, 'lets a group in and keeps others out', other);

  const nora = new Person('nora');
  const weak = await nora.open(`${app}/private/`);
  check(weak.text === 'private/index.html', 'sign-in by password', weak);
  nora.code = await giveCodes('usr_fixture_person_nora');
  const strong = await nora.open(`${app}/private/strong/`);
  check(strong.text === 'private/strong/index.html', 'step-up by acr_values', strong);

  const info = async () => JSON.parse((await person.open(`${app}/private/callback?info=json`)).text);
  const before = await info();
  check(before.refresh_token !== undefined, 'refresh token', before);
  const query = new URLSearchParams({ refresh: `${app}/private/`, access_token: before.access_token });
  await person.open(`${app}/private/callback?${query}`);
  const after = await info();
  check(after.access_token !== before.access_token, 'refresh', after);

  const token = await machineToken('verifiers');
  const call = (bearer) => fetch(`${app}/api/`, { headers: { authorization: `Bearer ${bearer}` } });
  const good = await call(token);
  check(good.status === 200, 'API by introspection', [good.status, await good.text()]);
  check((await call(forge(token))).status === 401, 'refuses a forged token');

  // Postern ends the session, and Apache hears of it: nobody's browser is asked.
  const isOver = async () => {
    const until = Date.now() + 2000;
    for (;;) {
      const shown = await person.open(`${app}/private/`, `${issuer}/`);
      if (shown.url.startsWith(issuer)) return true;
      if (Date.now() > until) return false;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  await postern('user', 'sign-out', 'ida');
  check(await isOver(), 'back-channel logout by "user sign-out"');
  await person.open(`${app}/private/`);
  const elsewhere = new Person();
  const account = await elsewhere.open(`${issuer}/account`);
  await elsewhere.submit(account, '/account/end-others');
  check(await isOver(), 'and by the account page');
  await person.open(`${app}/private/`);

  const left = await person.open(
    `${app}/private/callback?${new URLSearchParams({ logout: `${app}/goodbye.html` })}`,
  );
  check(left.url === `${app}/goodbye.html`, 'sign-out', left);
  const asked = await person.open(`${app}/private/`, `${issuer}/interaction`);
  check(asked.url.startsWith(`${issuer}/interaction`), 'after which it asks again', asked);
} finally {
  await apache.stop();
}

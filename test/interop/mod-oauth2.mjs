// Apache with mod_oauth2: an API that verifies access tokens, offline and by introspection.
import { debianVersion, startApache } from './apache.ts';
import { forge, machineToken } from './machine-token.ts';
import { check, settings, version } from './report.ts';

const { issuer, clientId, clientSecret, app, api } = settings;
version(await debianVersion('libapache2-mod-oauth2'));

const token = await machineToken('verifiers');
const call = (path, bearer) => fetch(`${app}${path}`, { headers: { authorization: `Bearer ${bearer}` } });
const introspection = new URLSearchParams({
  'introspect.ssl_verify': 'false', // for the certificate of this test; leave it out
  'introspect.auth': 'client_secret_basic',
  client_id: clientId,
  client_secret: clientSecret,
});
const apache = await startApache(
  ['oauth2'],
  `
<Location /api>
  AuthType oauth2
  OAuth2TokenVerify jwks_uri ${issuer}/oauth/jwks.json jwks_uri.ssl_verify=false&verify.exp=required
  OAuth2TargetPass remote_user_claim=client_id
  <RequireAll>
    Require oauth2_claim aud:${api}
    Require oauth2_claim scope:reports.read
  </RequireAll>
</Location>
<Location /private>
  AuthType oauth2
  OAuth2TokenVerify introspect ${issuer}/oauth/introspect ${introspection}
  OAuth2TargetPass remote_user_claim=client_id
  <RequireAll>
    Require oauth2_claim aud:${api}
    Require oauth2_claim scope:reports.read
  </RequireAll>
</Location>
`,
);
try {
  const offline = await call('/api/', token);
  check(offline.status === 200, 'verifies a token offline', [offline.status, await offline.text()]);
  check((await call('/api/', forge(token))).status === 401, 'refuses a forged one');
  // Another token: the module remembers how the first one was verified.
  const asked = await call('/private/', await machineToken('verifiers'));
  check(asked.status === 200, 'verifies a token by introspection', [asked.status, await asked.text()]);
  check((await call('/private/', forge(token))).status === 401, 'refuses a forged one there');
} finally {
  await apache.stop();
}

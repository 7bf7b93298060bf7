// express-openid-connect: a web app with its own session.
/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 waits for them */
import { once } from 'node:events';
import express from 'express';
import openidConnect from 'express-openid-connect';
import { Person } from './person.ts';
import { check, settings, version, versionOf } from './report.ts';

const { issuer, clientId, clientSecret, app: baseURL } = settings;
version(versionOf('express-openid-connect'));
const { auth, requiresAuth } = openidConnect;

const app = express();
app.use(
  auth({
    issuerBaseURL: issuer,
    baseURL,
    clientID: clientId,
    clientSecret,
    secret: 'fixture-of-the-session-cookie-fixture',
    authRequired: false,
    idpLogout: true,
    authorizationParams: {
      response_type: 'code',
      scope: 'openid email profile offline_access',
      prompt: 'consent',
    },
  }),
);
app.get('/', (req, res) => res.json({ signedIn: req.oidc.isAuthenticated() }));
app.get('/me', requiresAuth(), async (req, res) => {
  const { name } = await req.oidc.fetchUserInfo();
  res.json({ claims: req.oidc.user, name, refreshable: req.oidc.refreshToken !== undefined });
});
app.get('/refresh', requiresAuth(), async (req, res) => {
  const before = req.oidc.accessToken.access_token;
  const { access_token: after } = await req.oidc.accessToken.refresh();
  res.json({ changed: before !== after });
});
const server = app.listen(Number(new URL(baseURL).port));
await once(server, 'listening');

const person = new Person();
const get = async (path) => {
  const page = await person.open(`${baseURL}${path}`);
  try {
    return JSON.parse(page.text);
  } catch {
    throw new Error(`${page.status} ${page.url}\n${page.text}`);
  }
};
const me = await get('/me');
check(me.claims.sub === 'usr_fixture_person_ida', 'sign-in with PKCE', me);
check(me.name === 'Ida Fixture', 'userinfo', me);
check(me.refreshable, 'refresh token', me);
check((await get('/refresh')).changed, 'refresh');
check((await get('/logout')).signedIn === false, 'sign-out');
server.close();

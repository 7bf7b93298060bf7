// Auth.js, by @auth/express.
/* oxlint-disable oxc/no-async-endpoint-handlers -- Express 5 waits for them */
import { once } from 'node:events';
import { ExpressAuth, getSession } from '@auth/express';
import express from 'express';
import { Person } from './person.ts';
import { check, settings, version, versionOf } from './report.ts';

const { issuer, clientId, clientSecret, app: origin } = settings;
version(`@auth/express ${versionOf('@auth/express')}, @auth/core ${versionOf('@auth/core')}`);

const config = {
  trustHost: true,
  secret: 'fixture-of-the-session-cookie-fixture',
  providers: [
    {
      id: 'postern',
      name: 'Postern',
      type: 'oidc',
      issuer,
      clientId,
      clientSecret,
      checks: ['pkce', 'state', 'nonce'],
      // Name and email are at userinfo, not in the ID token (OIDC Core §5.4).
      idToken: false,
    },
  ],
};
const app = express();
app.use('/auth', ExpressAuth(config));
app.get('/me', async (req, res) => res.json((await getSession(req, config)) ?? {}));
const server = app.listen(Number(new URL(origin).port));
await once(server, 'listening');

const person = new Person();
const chooser = await person.open(`${origin}/auth/signin`);
await person.submit(chooser, '/auth/signin/postern');
const { user } = JSON.parse((await person.open(`${origin}/me`)).text);
check(user !== undefined, 'sign-in with PKCE, state and nonce', user);
check(user?.name === 'Ida Fixture' && user.email === 'ida@example.com', 'name and email by userinfo', user);
const leave = await person.open(`${origin}/auth/signout`);
await person.submit(leave, '/auth/signout');
const after = JSON.parse((await person.open(`${origin}/me`)).text);
check(after.user === undefined, 'sign-out of the app', after);
server.close();

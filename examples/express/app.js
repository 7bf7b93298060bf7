// A web app that signs people in with Postern, shows what it knows of them, and signs them out.
import express from 'express';
import session from 'express-session';
import * as oidc from 'openid-client';

const home = 'http://localhost:8080/';
const secret = process.env.MY_APP_SECRET;
const postern = await oidc.discovery(new URL('http://localhost:3000'), 'my-app', secret, undefined, {
  execute: [oidc.allowInsecureRequests], // plain http, on this machine only
});
const app = express();
app.use(session({ secret, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }));

app.get('/', (req, res) => {
  const signedIn = '<a href="/me">My name and mail</a> <a href="/logout">Sign out</a>';
  res.send(req.session.person ? signedIn : '<a href="/login">Sign in</a>');
});

app.get('/login', async (req, res) => {
  const [verifier, state] = [oidc.randomPKCECodeVerifier(), oidc.randomState()];
  req.session.pending = { verifier, state }; // for the callback, in the session of this browser
  const code_challenge = await oidc.calculatePKCECodeChallenge(verifier);
  const request = { redirect_uri: `${home}callback`, scope: 'openid email profile', state };
  const pkce = { code_challenge, code_challenge_method: 'S256' };
  res.redirect(oidc.buildAuthorizationUrl(postern, { ...request, ...pkce }).href);
});

app.get('/callback', async (req, res) => {
  const { verifier, state } = req.session.pending ?? {};
  const expected = { pkceCodeVerifier: verifier, expectedState: state };
  const tokens = await oidc.authorizationCodeGrant(postern, new URL(req.url, home), expected);
  // Name and mail are at userinfo; the ID token has only `sub`, the stable id of the person.
  const person = await oidc.fetchUserInfo(postern, tokens.access_token, tokens.claims().sub);
  req.session.regenerate(() => {
    Object.assign(req.session, { person, idToken: tokens.id_token });
    req.session.save(() => res.redirect('/'));
  });
});

app.get('/me', (req, res) => res.json(req.session.person ?? null));

app.get('/logout', (req, res) => {
  const answer = { post_logout_redirect_uri: home, id_token_hint: req.session.idToken ?? '' };
  req.session.destroy(() => res.redirect(oidc.buildEndSessionUrl(postern, answer).href));
});

app.listen(8080, 'localhost', () => console.log(`Open ${home}`));

// A web app that signs users in with Postern, shows their name and mail address, and signs them out.
import express from 'express';
import session from 'express-session';
import * as oidc from 'openid-client';

const issuer = process.env.ISSUER ?? 'http://localhost:3000';
const home = 'http://localhost:8080/';
const secret = process.env.MY_APP_SECRET;
if (!secret) stop('Set MY_APP_SECRET to the secret that "./postern client secret" printed.');

// Plain http is for this computer only: remove the option when your issuer is https.
const options = { execute: [oidc.allowInsecureRequests] };
const postern = await oidc
  .discovery(new URL(issuer), 'my-app', secret, undefined, options)
  .catch((error) => stop(`Postern doesn't answer at ${issuer}. Is it running? (${error.message})`));

const app = express();
app.use(session({ secret, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }));

app.get('/login', async (req, res) => {
  const checks = { pkceCodeVerifier: oidc.randomPKCECodeVerifier(), expectedState: oidc.randomState() };
  req.session.checks = checks;
  const code_challenge = await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier);
  const pkce = { code_challenge, code_challenge_method: 'S256', state: checks.expectedState };
  const request = { redirect_uri: `${home}callback`, scope: 'openid email profile', ...pkce };
  res.redirect(oidc.buildAuthorizationUrl(postern, request).href);
});
app.get('/callback', async (req, res) => {
  const tokens = await oidc.authorizationCodeGrant(postern, new URL(req.url, home), req.session.checks);
  const user = await oidc.fetchUserInfo(postern, tokens.access_token, tokens.claims().sub);
  signIn(req, { user, idToken: tokens.id_token }, () => res.redirect('/'));
});

app.get('/', (req, res) => {
  const signedIn = '<a href="/me">My name and mail</a> <a href="/logout">Sign out</a>';
  res.send(req.session.user ? signedIn : '<a href="/login">Sign in</a>');
});

app.get('/me', (req, res) => res.json(req.session.user ?? null));

app.get('/logout', (req, res) => {
  const answer = { post_logout_redirect_uri: home, id_token_hint: req.session.idToken ?? '' };
  req.session.destroy(() => res.redirect(oidc.buildEndSessionUrl(postern, answer).href));
});

// Express finds error handlers by their four arguments.
app.use((error, req, res, _next) => {
  console.error(error);
  res.status(500).type('text').send(explain(error));
});

app.listen(8080, 'localhost', () => console.log(`Open ${home}`));

/** A new session ID at each sign-in, so that nobody can plant one beforehand. */
function signIn(req, members, done) {
  req.session.regenerate(() => {
    Object.assign(req.session, members);
    req.session.save(done);
  });
}

function explain({ error, error_description: description, status, message, cause }) {
  // RFC 6749 §5.2: 401 where the client sent its secret in a header.
  if (error === 'invalid_client' || status === 401)
    return 'Postern rejected the client secret: compare MY_APP_SECRET with client_secrets of my-app.';
  if (error === 'access_denied') return 'You canceled the sign-in, or you may not use this app.';
  if (cause?.code === 'ECONNREFUSED') return `Postern doesn't answer at ${issuer}. Is it running?`;
  return `The sign-in failed: ${description ?? message}.`;
}

function stop(message) {
  console.error(message);
  process.exit(1);
}

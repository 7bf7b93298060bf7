// passport-openidconnect, which has no PKCE and sends its secret in the form.
import { once } from 'node:events';
import express from 'express';
import session from 'express-session';
import passport from 'passport';
import { Strategy } from 'passport-openidconnect';
import { Person } from './person.ts';
import { check, settings, version, versionOf } from './report.ts';

const { issuer, clientId, clientSecret, app: origin } = settings;
version(versionOf('passport-openidconnect'));

passport.use(
  new Strategy(
    {
      issuer,
      authorizationURL: `${issuer}/oauth/authorize`,
      tokenURL: `${issuer}/oauth/token`,
      userInfoURL: `${issuer}/oauth/userinfo`,
      clientID: clientId,
      clientSecret,
      callbackURL: `${origin}/callback`,
      scope: ['email', 'profile'], // it adds openid
      skipUserProfile: false, // ask userinfo, which is where name and email are
    },
    (_issuer, profile, _context, idToken, _accessToken, _refreshToken, done) =>
      done(null, { id: profile.id, name: profile.displayName, email: profile.emails?.[0]?.value, idToken }),
  ),
);
passport.serializeUser((user, done) => done(null, user));
passport.deserializeUser((user, done) => done(null, user));

const app = express();
app.use(session({ secret: 'fixture', resave: false, saveUninitialized: false }));
app.use(passport.session());
app.get('/', (req, res) => res.json(req.user ?? {}));
app.get('/login', passport.authenticate('openidconnect'));
app.get('/callback', passport.authenticate('openidconnect', { failureMessage: true }), (_req, res) =>
  res.redirect('/'),
);
app.get('/logout', (req, res, next) => {
  const hint = req.user?.idToken ?? '';
  req.logout((error) => {
    if (error) return next(error);
    const query = new URLSearchParams({ id_token_hint: hint, post_logout_redirect_uri: `${origin}/` });
    res.redirect(`${issuer}/oauth/logout?${query}`);
  });
});
const server = app.listen(Number(new URL(origin).port));
await once(server, 'listening');

const person = new Person();
const page = await person.open(`${origin}/login`);
check(page.url === `${origin}/`, 'sign-in without PKCE', page);
const user = JSON.parse(page.text);
check(user.name === 'Ida Fixture' && user.email === 'ida@example.com', 'name and email by userinfo', user);
const left = await person.open(`${origin}/logout`);
check(left.url === `${origin}/` && left.text === '{}', 'sign-out', left);
server.close();

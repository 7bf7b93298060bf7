// oidc-client-ts: a single-page app in Chromium, on an origin of its own below the same site as the service.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { launchChromium } from '../world/chromium.ts';
import { check, settings, version, versionOf } from './report.ts';

const { issuer, clientId, app, folder } = settings;
version(`${versionOf('oidc-client-ts')}, Chromium`);

const library = readFileSync(
  new URL('node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
);
const html = `<!doctype html><title>app</title><script src="/oidc-client-ts.js"></script><script>
const manager = new oidc.UserManager({
  authority: ${JSON.stringify(issuer)},
  client_id: ${JSON.stringify(clientId)},
  redirect_uri: location.origin + '/callback',
  silent_redirect_uri: location.origin + '/silent',
  post_logout_redirect_uri: location.origin + '/',
  scope: 'openid email profile',
  loadUserInfo: true,
  automaticSilentRenew: false,
});
window.ready = (async () => {
  if (location.pathname === '/callback') await manager.signinRedirectCallback();
  if (location.pathname === '/silent') await manager.signinSilentCallback();
})();
</script>`;
function answer(request, response) {
  const isLibrary = request.url === '/oidc-client-ts.js';
  response.setHeader('content-type', isLibrary ? 'text/javascript' : 'text/html');
  response.end(isLibrary ? library : html);
}
const key = readFileSync(`${folder}/tls.key`);
const cert = readFileSync(`${folder}/tls.crt`);
const otherApp = process.env.OTHER_APP;
const servers = [
  createTlsServer({ key, cert }, answer).listen(Number(new URL(app).port)),
  createServer(answer).listen(Number(new URL(otherApp).port), '127.0.0.1'),
];
await Promise.all(servers.map((server) => once(server, 'listening')));

const browser = await launchChromium();
try {
  const context = await browser.newContext({ ignoreHTTPSErrors: true });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const problems = [];
  page.on('console', (message) => message.type() === 'error' && problems.push(message.text()));

  /** In the app; returns what the library says of the person now. */
  const run = (script) =>
    page.evaluate(async (text) => {
      await window.ready;
      // oxlint-disable-next-line typescript/no-implied-eval -- the app's own script
      return new Function(`return (async () => { ${text} })()`)();
    }, script);
  const leave = (script) => run(`setTimeout(() => { ${script} }); return null`);
  const user = (script) =>
    run(
      `const user = await (${script}); return user && { name: user.profile.name, sub: user.profile.sub,
        access: user.access_token, refresh: user.refresh_token ?? null, scope: user.scope };`,
    );

  await page.goto(app);
  await leave('manager.signinRedirect()');
  await page.fill('[name=username]', 'ida');
  await page.fill('[name=password]', 'fixture-password-of-ida');
  await page.click('form[action$="/login"] [type=submit]');
  await page.click('form[action$="/consent"] [type=submit]');
  await page.waitForURL(`${app}/callback?**`);
  const first = await user('manager.getUser()');
  check(first?.sub === 'usr_fixture_person_ida', 'sign-in with PKCE, token by CORS', [first, problems]);
  check(first.name === 'Ida Fixture', 'userinfo by CORS', first);

  const silent = await user('manager.signinSilent()');
  check(
    silent.refresh === null && silent.access !== first.access,
    'silent renewal in an iframe (same site)',
    silent,
  );

  // The session cookie is SameSite=Lax: an iframe in a page of another site doesn't bring it.
  await page.goto(otherApp);
  await leave('manager.signinRedirect()');
  await page.waitForURL(`${otherApp}/callback?**`);
  check((await user('manager.getUser()')) !== null, 'sign-in from another site', problems);
  const other = await run(
    `return manager.signinSilent().then(() => 'renewed', (error) => error.error ?? String(error))`,
  );
  check(other === 'login_required', 'where an iframe can’t renew (login_required)', other);
  await page.goto(app);

  await leave(`manager.signinRedirect({ scope: 'openid profile offline_access', prompt: 'consent' })`);
  await page.click('form[action$="/consent"] [type=submit]');
  await page.waitForURL(`${app}/callback?**`);
  const second = await user('manager.getUser()');
  check(second.refresh !== null, 'refresh token with prompt=consent', [second, problems]);
  const third = await user('manager.signinSilent()');
  check(third.refresh !== null && third.refresh !== second.refresh, 'silent renewal by refresh token', third);

  await run('await manager.revokeTokens()');
  check((await user('manager.getUser()')).refresh === null, 'revocation by CORS', problems);
  check(problems.length === 0, 'an empty console', problems);

  await leave('manager.signoutRedirect()');
  await page.click('form[action$="/logout/confirm"] [name=logout]');
  await page.waitForURL(`${app}/`);
  const gone = await run(
    `return manager.signinSilent().then(() => 'signed in', (error) => error.error ?? String(error))`,
  );
  check(gone === 'login_required', 'sign-out, after which prompt=none says login_required', gone);
} finally {
  await browser.close();
  for (const server of servers) server.close();
  for (const server of servers) server.closeAllConnections();
}

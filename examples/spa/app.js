// A single-page app that signs users in with Postern, shows their name and mail address, and signs them out.
import { UserManager } from 'oidc-client-ts';

const issuer = import.meta.env.VITE_ISSUER ?? 'http://localhost:3000';
const home = `${location.origin}/`;
const manager = new UserManager({
  authority: issuer,
  client_id: 'spa',
  redirect_uri: `${home}callback`,
  post_logout_redirect_uri: home,
  scope: 'openid email profile',
  loadUserInfo: true, // name and email are at userinfo
});
const [status, login, logout] = ['status', 'login', 'logout'].map((id) => document.getElementById(id));

login.onclick = () => manager.signinRedirect().catch(showError);
logout.onclick = () => manager.signoutRedirect().catch(showError);

try {
  if (location.pathname === '/callback') {
    await manager.signinCallback();
    history.replaceState({}, '', '/'); // removes the code from the address
  }
  const user = await manager.getUser();
  const isSignedIn = user !== null && !user.expired;
  status.textContent = isSignedIn ? `${user.profile.name}, ${user.profile.email}` : 'Not signed in';
  login.hidden = isSignedIn;
  logout.hidden = !isSignedIn;
} catch (error) {
  await showError(error);
}

async function showError(error) {
  console.error(error);
  status.textContent = await explain(error);
  login.hidden = false;
}

async function explain(error) {
  if (error.error === 'access_denied') return 'You canceled the sign-in, or you may not use this app.';
  if (error.error === 'invalid_client')
    return 'Postern expects a secret, which a single-page app can’t have: set token_endpoint_auth_method: none for spa.';
  // The browser doesn't say why a request failed. One that needs no permission of the other side tells the two reasons apart.
  if (error instanceof TypeError) {
    const isRunning = await fetch(`${issuer}/.well-known/openid-configuration`, { mode: 'no-cors' }).catch(
      () => false,
    );
    if (isRunning)
      return `Postern rejects requests from this page: add ${location.origin} to cors.allowed_origins.`;
    return `Postern doesn't answer at ${issuer}. Is it running?`;
  }
  return `The sign-in failed: ${error.error_description ?? error.message}.`;
}

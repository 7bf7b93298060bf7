export { authorizationUrl as authorizeUrl } from '../world/authorization-request.ts';
export { begin, complete, newBrowser, type Person, signInAs, silently, titleOf } from '../world/person.ts';
export { GENEROUS } from '../world/world.ts';
import { worldClients } from '../world/world.ts';

export function clientsWithHome(
  home: Readonly<Record<string, unknown>> = { client_uri: 'https://app.example/' },
) {
  return worldClients({ web: home });
}

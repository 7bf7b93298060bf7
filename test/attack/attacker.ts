import * as request from '../world/authorization-request.ts';
import * as people from '../world/person.ts';
import * as presented from '../world/presented-tokens.ts';
import type { Parameters } from '../world/requests.ts';
import { changeAccount } from '../world/store-access.ts';
import * as endpoint from '../world/token-endpoint.ts';
import { sendBytes } from '../world/wire.ts';
import type { World } from '../world/world.ts';

export { takeCode, type Ticket } from '../world/app.ts';
export { CHALLENGE, type CodeClient, REDIRECT_URIS, VERIFIER } from '../world/authorization-request.ts';
export { newBrowser, redirectOf } from '../world/person.ts';
export { type Parameters, textOf } from '../world/requests.ts';
export { rounds } from '../world/rounds.ts';
export { hashOf, keyStoreOf, withStore } from '../world/stored.ts';
export { redeem as exchangeCode, requestToken } from '../world/token-endpoint.ts';
export { createTurns, NEVER } from '../world/turns.ts';
export { GENEROUS } from '../world/world.ts';

const of = (client: string, changes: Parameters): Parameters => ({
  client_id: client,
  scope: 'openid',
  ...changes,
});
export const authorizationUrl = (world: World, client: string, changes: Parameters = {}) =>
  request.authorizationUrl(world, of(client, changes));
export const ask = (world: World, client: string, changes: Parameters = {}) =>
  people.ask(world, of(client, changes));
export const refresh = (
  world: Pick<World, 'base'>,
  client: endpoint.ClientId,
  token: string,
  form: Parameters = {},
) => endpoint.refresh(world, token, form, client);
export const revoke = (
  world: Pick<World, 'base'>,
  client: endpoint.ClientId,
  { token, ...form }: Parameters,
) => presented.revoke(world, token, client, form);
export const sendRaw = (world: Pick<World, 'base'>, bytes: string) => sendBytes(world.base, bytes);
export const setDisabled = (world: World, accountId: string, disabled: boolean) =>
  changeAccount(world, accountId, { disabled });

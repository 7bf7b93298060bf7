// What a client sends to the token endpoint by hand, and how it proves who it is.
import { type CodeClient, REDIRECT_URIS, VERIFIER } from './authorization-request.ts';
import { type Answer, type Parameters, post } from './requests.ts';
import { SECRETS, type World } from './world.ts';

export type ClientId = keyof typeof SECRETS | 'spa' | 'native';
type Place = Pick<World, 'base'>;

export function basic(id: keyof typeof SECRETS, secret: string = SECRETS[id]): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
}

/** A form post by `client`, authenticated in the way that its registration names. */
export async function postAs(
  world: Place,
  client: ClientId,
  path: string,
  form: Parameters,
): Promise<Answer> {
  if (client === 'spa' || client === 'native') return post(world, path, { client_id: client, ...form });
  if (client === 'post')
    return post(world, path, { client_id: client, client_secret: SECRETS.post, ...form });
  return post(world, path, form, { authorization: basic(client) });
}

export async function requestToken(world: Place, client: ClientId, form: Parameters): Promise<Answer> {
  return postAs(world, client, '/oauth/token', form);
}

/** What a code is exchanged with. Without more, that of a request as authorization-request.ts makes it. */
export type Redeemable = {
  readonly code: string | undefined;
  readonly client?: CodeClient;
  readonly redirectUri?: string;
  readonly verifier?: string;
};

/** Exchanges a code with nothing checked, as its own client unless another is named. */
export async function redeem(
  world: Place,
  { code, client: own = 'web', redirectUri = REDIRECT_URIS[own], verifier = VERIFIER }: Redeemable,
  changes: Parameters = {},
  client: ClientId = own,
): Promise<Answer> {
  if (code === undefined) throw new Error('no code');
  return requestToken(world, client, {
    grant_type: 'authorization_code',
    code,
    redirect_uri: redirectUri,
    code_verifier: verifier,
    ...changes,
  });
}

export async function refresh(
  world: Place,
  refreshToken: string | undefined,
  changes: Parameters = {},
  client: ClientId = 'web',
): Promise<Answer> {
  if (refreshToken === undefined) throw new Error('no refresh token');
  return requestToken(world, client, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    ...changes,
  });
}

/** A request for a machine token. */
export async function clientCredentials(
  world: Place,
  changes: Parameters = {},
  client: ClientId = 'svc',
): Promise<Answer> {
  return requestToken(world, client, { grant_type: 'client_credentials', ...changes });
}

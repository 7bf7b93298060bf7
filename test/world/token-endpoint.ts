// Requests to the token endpoint that are written by hand, and the client authentication in them.
import { type CodeClient, REDIRECT_URIS, VERIFIER } from './authorization-request.ts';
import { type Answer, type Parameters, post } from './requests.ts';
import { SECRETS, type World } from './world.ts';

export type ClientId = keyof typeof SECRETS | 'spa' | 'native';
type Place = Pick<World, 'base'>;

export function basic(id: keyof typeof SECRETS, secret: string = SECRETS[id]): string {
  return `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
}

/** Posts a form as `client`, authenticated with the method of its registration. */
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

/** A code with the parameters of its exchange; the defaults match a request of authorization-request.ts. */
export type Redeemable = {
  readonly code: string | undefined;
  readonly client?: CodeClient;
  readonly redirectUri?: string;
  readonly verifier?: string;
};

/** Exchanges a code without any check of the answer; by default as the code's own client. */
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

/** Requests a machine token. */
export async function clientCredentials(
  world: Place,
  changes: Parameters = {},
  client: ClientId = 'svc',
): Promise<Answer> {
  return requestToken(world, client, { grant_type: 'client_credentials', ...changes });
}

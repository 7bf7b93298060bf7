// A device without a browser (RFC 8628), and the user who approves it.
import { DEVICE_CODE_GRANT } from '../../../src/features/device-flow/feature.ts';
import type { Browser, Page } from '../../world/browser.ts';
import { finishPages, newBrowser, type User } from '../../world/person.ts';
import { basic, refresh } from '../../world/token-endpoint.ts';
import { type Answer, formPost, type Parameters, post, textOf } from '../../world/requests.ts';
import { GENEROUS, type World, worldClients } from '../../world/world.ts';

type Place = Pick<World, 'issuer' | 'base'>;

const tv = (id: string) => ({
  client_id: id,
  client_name: `The ${id}`,
  token_endpoint_auth_method: 'none',
  grant_types: [DEVICE_CODE_GRANT, 'refresh_token'],
  scope: 'openid profile offline_access reports.read',
});

const FIRST_PARTY_GRANTS = ['authorization_code', DEVICE_CODE_GRANT];

/** A configuration with two televisions as clients. */
export const DEVICE_CONFIG = {
  ...GENEROUS,
  features: { device_flow: true },
  clients: [...worldClients({ 'first-party': { grant_types: FIRST_PARTY_GRANTS } }), tv('tv'), tv('tv2')],
};

type DeviceClient = 'tv' | 'tv2' | 'first-party' | 'web';
const authorizationOf = (client: DeviceClient): Record<string, string> =>
  client === 'tv' || client === 'tv2' ? {} : { authorization: basic(client) };

export type Asked = { readonly deviceCode: string; readonly userCode: string; readonly answer: Answer };

/** RFC 8628 §3.1: requests the codes of a device. */
export async function askForCodes(
  world: Place,
  changes: Parameters = {},
  client: DeviceClient = 'tv',
): Promise<Asked> {
  const form = { client_id: client, scope: 'openid offline_access reports.read', ...changes };
  const answer = await post(world, '/oauth/device_authorization', form, authorizationOf(client));
  return { deviceCode: textOf(answer, 'device_code'), userCode: textOf(answer, 'user_code'), answer };
}

/** RFC 8628 §3.4: polls for the user's decision. */
export async function poll(
  world: Place,
  { deviceCode }: Pick<Asked, 'deviceCode'>,
  client: DeviceClient = 'tv',
  changes: Parameters = {},
): Promise<Answer> {
  const form = { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode, client_id: client, ...changes };
  return post(world, '/oauth/token', form, authorizationOf(client));
}

/** RFC 6749 §6: uses the refresh token of such an answer. */
export const refreshAsTv = (world: Place, { body }: Pick<Answer, 'body'>) =>
  refresh(world, String(body['refresh_token']), { client_id: 'tv' }, 'spa');

/** Opens the page that asks whether to approve the device with this code, or reports a wrong code; signs in first if needed. */
export async function typeCode(
  browser: Browser,
  { issuer }: Place,
  userCode: string,
  person: User = 'alice',
): Promise<Page> {
  const page = await browser.open(`${issuer}/device`);
  return finishPages(browser, await browser.submit(page, '/device', { user_code: userCode }), person);
}

/** Sends a form that is on no page. */
export async function postToDevice(
  browser: Browser,
  { issuer }: Place,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Page> {
  return browser.open(`${issuer}/device`, formPost(body, headers));
}

export const isConfirmPage = ({ status, text }: Page) => status === 200 && text.includes('name="confirm"');
export const isDonePage = ({ status, text }: Page) => status === 200 && text.includes('Device connected');

/** Performs each step of a user until the device is approved; returns the last page. */
export async function letIn(
  world: Place,
  { userCode }: Pick<Asked, 'userCode'>,
  { browser = newBrowser(world), person = 'alice' }: { browser?: Browser; person?: User } = {},
): Promise<Page> {
  const page = await typeCode(browser, world, userCode, person);
  return finishPages(browser, await browser.submit(page, '/device', { confirm: 'yes' }), person);
}

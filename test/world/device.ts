// What a device does that has no browser (RFC 8628), and the person who lets it in.
import { DEVICE_CODE_GRANT } from '../../src/config/device-grant.ts';
import type { Browser, Page } from './browser.ts';
import { finishPages, newBrowser, type Person } from './person.ts';
import { type Answer, type Parameters, post, textOf } from './requests.ts';
import { GENEROUS, type World, worldClients } from './world.ts';

type Place = Pick<World, 'issuer' | 'base'>;

const tv = (id: string) => ({
  client_id: id,
  client_name: `The ${id}`,
  token_endpoint_auth_method: 'none',
  grant_types: [DEVICE_CODE_GRANT, 'refresh_token'],
  scope: 'openid profile offline_access reports.read',
});

/** A world in which two televisions may ask. */
export const DEVICE_CONFIG = {
  ...GENEROUS,
  features: { device_flow: true },
  clients: [...worldClients(), tv('tv'), tv('tv2')],
};

export type Asked = { readonly deviceCode: string; readonly userCode: string; readonly answer: Answer };

/** RFC 8628 §3.1: the device begins. */
export async function askForCodes(world: Place, changes: Parameters = {}): Promise<Asked> {
  const form = { client_id: 'tv', scope: 'openid offline_access reports.read', ...changes };
  const answer = await post(world, '/oauth/device_authorization', form);
  return { deviceCode: textOf(answer, 'device_code'), userCode: textOf(answer, 'user_code'), answer };
}

/** RFC 8628 §3.4: it asks whether somebody has let it in. */
export async function poll(
  world: Place,
  { deviceCode }: Pick<Asked, 'deviceCode'>,
  clientId = 'tv',
): Promise<Answer> {
  const form = { grant_type: DEVICE_CODE_GRANT, device_code: deviceCode, client_id: clientId };
  return post(world, '/oauth/token', form);
}

/** The page that asks whether the device with this code may come in, or says that there is none. */
export async function typeCode(browser: Browser, { issuer }: Place, userCode: string): Promise<Page> {
  const page = await browser.open(`${issuer}/device`);
  return browser.submit(page, '/device', { user_code: userCode });
}

export const isConfirmPage = ({ status, text }: Page) => status === 200 && text.includes('name="confirm"');
export const isDonePage = ({ status, text }: Page) =>
  status === 200 && text.includes('Go back to your device');

/** Everything that a person does until the device is let in; the page that they end on. */
export async function letIn(
  world: Place,
  { userCode }: Pick<Asked, 'userCode'>,
  { browser = newBrowser(world), person = 'alice' }: { browser?: Browser; person?: Person } = {},
): Promise<Page> {
  const page = await typeCode(browser, world, userCode);
  return finishPages(browser, await browser.submit(page, '/device', { confirm: 'yes' }), person);
}

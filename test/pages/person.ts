// A person in a browser on the pages between an app and its answer. Owns the steps that most tests of pages begin with.
import { Browser, type Page } from '../world/browser.ts';
import { AUTHORIZATION_REQUEST } from '../world/flows.ts';
import { PASSWORDS, type World, worldClients } from '../world/world.ts';

export type Person = keyof typeof PASSWORDS;

/** So high that no test meets a limit by accident. */
export const GENEROUS = {
  rate_limits: {
    authorization: { address: '100000/1m' },
    logout: { address: '100000/1m' },
    sign_in: { account_failures: '10000/1m', address_failures: '100000/1m' },
  },
} as const;

export function authorizeUrl(world: World, parameters: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams({ ...AUTHORIZATION_REQUEST, ...parameters }).toString();
  return `${world.issuer}/oauth/authorize?${query}`;
}

export function newBrowser(world: World): Browser {
  return new Browser(world.issuer, world.base);
}

/** Opens the first page of a sign-in. */
export async function begin(
  world: World,
  parameters: Readonly<Record<string, string>> = {},
  { browser = newBrowser(world), headers = {} }: { browser?: Browser; headers?: Record<string, string> } = {},
): Promise<{ readonly browser: Browser; readonly page: Page }> {
  const first = await browser.request(authorizeUrl(world, parameters));
  const location = first.headers.get('location');
  return { browser, page: location === null ? first : await browser.open(location, { headers }) };
}

export async function signInAs(
  browser: Browser,
  page: Page,
  person: Person,
  action = '/login',
): Promise<Page> {
  return browser.submit(page, action, { username: person, password: PASSWORDS[person] });
}

/** From the app and back to it, answering whatever is asked. */
export async function complete(
  world: World,
  person: Person = 'alice',
  parameters: Readonly<Record<string, string>> = {},
  browser: Browser = newBrowser(world),
): Promise<{ readonly browser: Browser; readonly answer: URL }> {
  let { page } = await begin(world, parameters, { browser });
  if (page.text.includes('name="password"')) page = await signInAs(browser, page, person);
  if (page.text.includes('/consent"')) page = await browser.submit(page, '/consent');
  return { browser, answer: new URL(page.url) };
}

/** `signed in`, or the error of a request that may show no page. */
export async function silently(
  world: World,
  browser: Browser,
  parameters: Readonly<Record<string, string>> = {},
): Promise<string> {
  const page = await browser.open(authorizeUrl(world, { prompt: 'none', ...parameters }));
  return new URL(page.url).searchParams.get('error') ?? 'signed in';
}

/** The clients of the world with a home page for `web`. */
export function clientsWithHome(
  home: Readonly<Record<string, unknown>> = { client_uri: 'https://app.example/' },
) {
  return worldClients().map((client) => (client.client_id === 'web' ? { ...client, ...home } : client));
}

export function titleOf({ text }: Page): string {
  return (
    /<h1>([\s\S]*?)<\/h1>/
      .exec(text)?.[1]
      ?.replaceAll(/<[^>]*>/g, '')
      .trim() ?? ''
  );
}

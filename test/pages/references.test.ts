// Each reference on an error page leads to a line of the log, at a service's default level.
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { authorizationUrl } from '../world/authorization-request.ts';
import { newBrowser } from '../world/person.ts';

const INFO = 30;
const GONE = `/interaction/${'x'.repeat(43)}`;

describe('the reference on an error page leads to a line of the log', () => {
  const world = useWorld({ config: { rate_limits: { authorization: '40/1m' } } });
  const page = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
    fetch(`${world().base}${path}`, {
      ...init,
      headers: { accept: 'text/html', ...headers },
      redirect: 'manual',
    });

  async function expectLine(response: Response, status: number, error: string): Promise<void> {
    expect(response.status).toBe(status);
    const [, reference = ''] = /<dd><code>([\w-]+)<\/code>/.exec(await response.text()) ?? [];
    expect(reference).toMatch(/^[\w-]{20,}$/);
    const lines = world().recorded.log.map((line) => JSON.parse(line) as Record<string, unknown>);
    const own = lines.filter((line) => line['requestId'] === reference && Number(line['level']) >= INFO);
    expect(own.map((line) => line['error'])).toEqual([error]);
  }

  it('is not on the page of an address that there is not, which has no code either', async () => {
    const response = await page('/nothing');
    expect(response.status).toBe(404);
    const text = await response.text();
    expect(text).toContain('<h1>Page not found</h1>');
    expect(text).not.toMatch(/<dd>|<code>|not_found/);
  });

  it('where the sign-in is over', async () => {
    await expectLine(await page(GONE, { cookie: 'a=b' }), 400, 'expired');
  });

  it('where a form comes from another site', async () => {
    const browser = newBrowser(world());
    const open = await browser.open(authorizationUrl(world()));
    const cookie = browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
    const headers = {
      cookie,
      origin: 'https://evil.example',
      'content-type': 'application/x-www-form-urlencoded',
    };
    const path = `${new URL(open.url).pathname}/login`;
    await expectLine(await page(path, headers, { method: 'POST', body: 'username=alice' }), 403, 'forbidden');
  });

  it('where the client is unknown', async () => {
    const query =
      'client_id=nobody&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&response_type=code&scope=openid';
    await expectLine(await page(`/oauth/authorize?${query}`), 400, 'invalid_client');
  });

  it('where a limit is reached', async () => {
    let response = await page('/oauth/authorize');
    for (let count = 0; count < 50 && response.status !== 429; count += 1)
      response = await page('/oauth/authorize');
    await expectLine(response, 429, 'temporarily_unavailable');
  });
});

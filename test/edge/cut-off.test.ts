// Callers that disconnect before their body was read. That is no fault of the service, and needs no administrator.
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it } from 'vitest';
import { formOf } from '../world/browser.ts';
import { begin } from '../world/person.ts';
import { get } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { FORM } from '../world/wire.ts';
import { eachStore } from '../world/each-store.ts';

const BODIES = [
  ['ends midway', 'Content-Length: 1000\r\n\r\nlogout=yes&a='],
  ['ends before it begins', 'Content-Length: 1000\r\n\r\n'],
  ['ends between two chunks', 'Transfer-Encoding: chunked\r\n\r\n5\r\na=b&c\r\n'],
  ['is chunked and broken', 'Transfer-Encoding: chunked\r\n\r\n5\r\na=b&c\r\nZZZ\r\n'],
  ['is whole, with the connection reset behind it', 'Content-Length: 3\r\n\r\na=b'],
] as const;

eachStore('a body that is cut off', (world) => {
  async function signInPage() {
    const { browser, page } = await begin(world());
    const { pathname } = new URL(formOf(page, '/login').action);
    return { pathname, cookie: browser.cookies.map(({ name, value }) => `${name}=${value}`).join('; ') };
  }

  it.each(BODIES)('that %s is no error in the log, at no form', async (_name, body) => {
    const { pathname, cookie } = await signInPage();
    const before = world().recorded.log.length;
    const forms = ['token', 'introspect', 'revoke', 'userinfo', 'authorize', 'logout', 'logout/confirm'];
    const oauth = forms.map((name) => `/oauth/${name}`);
    for (const path of [pathname, pathname.replace('/login', '/cancel'), ...oauth]) {
      for (const isAccepted of [true, false]) {
        const socket = connect(Number(new URL(world().base).port), '127.0.0.1');
        socket.on('error', () => undefined);
        await once(socket, 'connect');
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: id.example\r\nCookie: ${cookie}\r\nAuthorization: ${basic('web')}\r\n${FORM}\r\n${body}`,
        );
        // The service has received this request by the time it answers another one.
        if (isAccepted) await get(world(), '/oauth/jwks.json');
        socket.resetAndDestroy();
      }
    }
    expect((await get(world(), '/oauth/userinfo')).status).toBe(401);
    const lines = world().recorded.log.slice(before);
    expect(
      lines.filter((line) => (JSON.parse(line) as { level: number }).level >= 40 || line.includes('stack')),
    ).toEqual([]);
    // The requests did arrive.
    expect(lines.filter((line) => line.includes('"request"')).length).toBeGreaterThan(9);
  });
});

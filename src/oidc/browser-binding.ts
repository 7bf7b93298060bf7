// Binds each open sign-in to the browser that began it, by a cookie named after the interaction. The engine's own cookies have a path, so
// they can't be `__Host-`: a sibling domain could plant those of its own sign-in, and sign a browser in as another user.
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import { cookieNames, cookieOptions, cookiesOf } from './cookie-names.ts';

/** Open sign-ins per browser. */
const MAX_OPEN = 10;

/** The cookie context of a request, the same in the engine and the host. */
export type Cookies = Pick<Context, 'cookies' | 'get' | 'response'>;

/** `browser`: the keyed hash of the cookie. `exp`: epoch seconds. */
type Bound = Readonly<{ uid: string; exp?: number; browser?: string }>;

export type BrowserBinding = ReturnType<typeof createBrowserBinding>;

export function createBrowserBinding(issuer: string, hash: KeyedHash, now: Clock) {
  const { browser: prefix } = cookieNames(issuer);
  const options = cookieOptions(issuer);
  const nameOf = (uid: string) => `${prefix}.${uid}`;
  const markOf = (value: string) => hash(`browser:${value}`);
  // Parsed here: the library caches a pattern per name, and a name behind any blank but a space was planted by a sibling domain.
  const pattern = new RegExp(`(?:^|;) *(${nameOf('').replaceAll('.', '\\.')}[\\w-]{43})=([^;]*)`, 'g');

  /** Returns the browser's newest cookies by name. Removes the others, a few per answer, because headers have a size limit. */
  function keepNewest(ctx: Cookies, most: number): ReadonlyMap<string, string> {
    const ended = cookiesOf(ctx).join();
    const open = [...ctx.get('Cookie').matchAll(pattern)]
      .map(([, name = '', value = '']) => [name, value] as const)
      .filter(([name]) => !ended.includes(`${name}=`))
      // Each value begins with the time of its creation.
      .toSorted(([, one], [, other]) => (one < other ? 1 : -1));
    for (const [name] of open.slice(most, most + MAX_OPEN)) ctx.cookies.set(name, null, options);
    return new Map(open.slice(0, most));
  }

  return {
    /** Sets the cookie of a new sign-in. Returns its keyed hash, which must be saved with the interaction. */
    bind(ctx: Cookies, { uid, exp = 0 }: Bound): string {
      keepNewest(ctx, MAX_OPEN - 1);
      const value = `${now().toString(36)}.${randomBytes(32).toString('base64url')}`;
      ctx.cookies.set(nameOf(uid), value, { ...options, expires: new Date(exp * 1000) });
      return markOf(value);
    },
    isOf(ctx: Cookies, { uid, browser }: Bound): boolean {
      const value = keepNewest(ctx, MAX_OPEN).get(nameOf(uid));
      return value !== undefined && markOf(value) === browser;
    },
    end(ctx: Cookies, { uid }: Bound): void {
      ctx.cookies.set(nameOf(uid), null, options);
    },
  };
}

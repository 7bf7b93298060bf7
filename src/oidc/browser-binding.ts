// Which browser began a sign-in: one cookie for each that is open, named after its interaction. The engine's own cookies of an
// interaction have a path, so they can't be `__Host-`: a neighbour of a parent domain could plant those of its own sign-in, and the
// browser that is led there would be signed in as somebody else.
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { Clock } from '../store/store.ts';
import { cookieNames, cookieOptions, cookiesOf } from './cookie-names.ts';

/** Per browser. */
const MAX_OPEN = 10;

/** The cookie context of a request; the engine's and the host's are the same. */
export type Cookies = Pick<Context, 'cookies' | 'get' | 'response'>;

/** `browser`: the keyed hash of its cookie. */
type Bound = { readonly uid: string; readonly exp?: number; readonly browser?: string };

export type BrowserBinding = ReturnType<typeof createBrowserBinding>;

export function createBrowserBinding(issuer: string, hash: KeyedHash, now: Clock) {
  const { browser: prefix } = cookieNames(issuer);
  const options = cookieOptions(issuer);
  const nameOf = (uid: string) => `${prefix}.${uid}`;
  const markOf = (value: string) => hash(`browser:${value}`);
  // Read here, as a name that a neighbour planted behind a blank other than a space isn't ours, and the library keeps a pattern per name.
  const pattern = new RegExp(`(?:^|;) *(${nameOf('').replaceAll('.', '\\.')}[\\w-]{43})=([^;]*)`, 'g');

  /** The newest that the browser sent, by name. The others go, a few with each answer: its headers have a limit too. */
  function keepNewest(ctx: Cookies, most: number): ReadonlyMap<string, string> {
    const ended = cookiesOf(ctx).join();
    const open = [...ctx.get('Cookie').matchAll(pattern)]
      .map(([, name = '', value = '']) => [name, value] as const)
      .filter(([name]) => !ended.includes(`${name}=`))
      // Each value begins with its time.
      .toSorted(([, one], [, other]) => (one < other ? 1 : -1));
    for (const [name] of open.slice(most, most + MAX_OPEN)) ctx.cookies.set(name, null, options);
    return new Map(open.slice(0, most));
  }

  return {
    /** Gives the browser the cookie of a sign-in that begins, which is to be kept with the result. */
    bind(ctx: Cookies, { uid, exp = 0 }: Bound): string {
      keepNewest(ctx, MAX_OPEN - 1);
      const value = `${now().toString(36)}.${randomBytes(32).toString('base64url')}`;
      ctx.cookies.set(nameOf(uid), value, { ...options, expires: new Date(exp * 1000) });
      return markOf(value);
    },
    /** Whether this browser began it. */
    isOf(ctx: Cookies, { uid, browser }: Bound): boolean {
      const value = keepNewest(ctx, MAX_OPEN).get(nameOf(uid));
      return value !== undefined && markOf(value) === browser;
    },
    end(ctx: Cookies, { uid }: Bound): void {
      ctx.cookies.set(nameOf(uid), null, options);
    },
  };
}

// Which browser began a sign-in. The engine's own cookies of an interaction have a path, so they can't be `__Host-`: a neighbour
// of a parent domain could plant those of its own sign-in, and the browser that is led there would be signed in as somebody else.
import { randomBytes } from 'node:crypto';
import type { Context } from 'koa';
import type { KeyedHash } from '../store/keyed-hash.ts';
import { cookieNames, cookieOptions } from './cookie-names.ts';

const VALUE = /^[\w-]{43}$/;

/** The cookie context of a request; the engine's and the host's are the same. */
export type Cookies = Pick<Context, 'cookies'>;

export type BrowserBinding = ReturnType<typeof createBrowserBinding>;

export function createBrowserBinding(issuer: string, hash: KeyedHash) {
  const { browser: name } = cookieNames(issuer);
  const options = cookieOptions(issuer);
  const markOf = (value: string) => hash(`browser:${value}`);

  function valueOf(ctx: Cookies): string | undefined {
    const value = ctx.cookies.get(name, options);
    return value !== undefined && VALUE.test(value) ? value : undefined;
  }

  return {
    /** What to keep with a sign-in that begins. The browser gets its cookie where it has none. */
    bind(ctx: Cookies): string {
      const known = valueOf(ctx);
      if (known !== undefined) return markOf(known);
      const made = randomBytes(32).toString('base64url');
      ctx.cookies.set(name, made, options);
      return markOf(made);
    },
    /** Whether this browser began it. One without a mark was begun by a version that made none. */
    isOf(ctx: Cookies, mark: string | undefined): boolean {
      if (mark === undefined) return true;
      const value = valueOf(ctx);
      return value !== undefined && markOf(value) === mark;
    },
  };
}

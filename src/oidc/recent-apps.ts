// Which app a sign-in page belonged to, for when the sign-in itself is long gone: the browser keeps it, so that a stale
// page can lead back to its app. The cookie is signed and names clients of the configuration.
import type { Cookies } from './browser-binding.ts';
import { cookieNames, cookieOptions } from './cookie-names.ts';

const MAX_APPS = 6;
/** A tab that was left open over a weekend, and more. */
const MAX_AGE_MS = 14 * 24 * 60 * 60 * 1000;
/** Enough to tell a few sign-ins apart, and no credential. */
const PREFIX_LENGTH = 8;

type RecentApp = readonly [prefix: string, clientId: string];

export type RecentApps = ReturnType<typeof createRecentApps>;

export function createRecentApps(issuer: string) {
  const { apps: name } = cookieNames(issuer);
  // Unsigned, it would name any client to any caller that sends its id.
  const options = { ...cookieOptions(issuer), signed: true };

  return {
    remember(ctx: Cookies, uid: string, clientId: string): void {
      const prefix = uid.slice(0, PREFIX_LENGTH);
      const known = parse(ctx.cookies.get(name, options));
      if (known.some(([one, app]) => one === prefix && app === clientId)) return;
      const apps = [[prefix, clientId] as const, ...known.filter(([one]) => one !== prefix)];
      const value = apps
        .slice(0, MAX_APPS)
        .map(([one, app]) => `${one}.${Buffer.from(app).toString('base64url')}`)
        .join('~');
      ctx.cookies.set(name, value, { ...options, maxAge: MAX_AGE_MS });
    },
    /** The client_id that the sign-in `uid` was for, or the last one, as this browser remembers. */
    find(ctx: Cookies, uid?: string): string | undefined {
      const apps = parse(ctx.cookies.get(name, options));
      const prefix = uid?.slice(0, PREFIX_LENGTH);
      return apps.find(([one]) => prefix === undefined || one === prefix)?.[1];
    },
  };
}

function parse(value: string | undefined): readonly RecentApp[] {
  return (value ?? '')
    .slice(0, 4000)
    .split('~')
    .slice(0, MAX_APPS)
    .map((entry) => entry.split('.'))
    .filter(([prefix, app]) => prefix?.length === PREFIX_LENGTH && app !== undefined)
    .map(([prefix = '', app = '']) => [prefix, Buffer.from(app, 'base64url').toString()]);
}

// Describes a browser so that users recognise it. A browser may send any User-Agent, so this is only shown and decides nothing.

import type { Context } from 'koa';
import { networkOf } from '../limits/network.ts';
import { clientAddressOf } from '../observability/audit.ts';
import type { Place } from '../users/user-index.ts';

/** The order matters: most browsers also name another one. */
const BROWSERS = [
  ['Edge', /\bEdgi?A?(?:OS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:Chrome|CriOS|Chromium)\//],
  ['Safari', /\bSafari\//],
] as const;

const SYSTEMS = [
  ['Android', /\bAndroid\b/],
  ['iPhone', /\biPhone\b/],
  ['iPad', /\biPad\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Linux', /\bLinux\b/],
] as const;

const find = (names: readonly (readonly [string, RegExp])[], userAgent: string) =>
  names.find(([, pattern]) => pattern.test(userAgent))?.[0];

/** Where a request comes from, by its `User-Agent` (RFC 9110 §10.1.5) and its address. */
export function placeOf(ctx: Context): Place {
  const userAgent = ctx.get('User-Agent');
  const browser = [find(BROWSERS, userAgent), find(SYSTEMS, userAgent)].filter(Boolean).join(', ');
  return { browser, network: networkOf(clientAddressOf(ctx)) };
}

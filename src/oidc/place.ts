// What users know a browser by again. A browser may say anything of itself: this is for their eyes, and decides nothing.

import type { Context } from 'koa';
import { networkOf } from '../limits/network.ts';
import type { Place } from '../users/user-index.ts';

/** In this order: most browsers also say that they are another one. */
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
  return { browser, network: networkOf(String(ctx.state['clientAddress'] ?? '')) };
}

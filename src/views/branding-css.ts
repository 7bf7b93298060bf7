// The operator's colour, and the colours that follow from it, as a stylesheet: the CSP allows no inline style.
import type { Branding } from '../config/config.ts';

type Rgb = readonly [red: number, green: number, blue: number];

const WHITE: Rgb = [255, 255, 255];
const BLACK: Rgb = [0, 0, 0];
// WCAG 1.4.3. Where white doesn't reach it, black does: no colour is below it with both.
const MIN_CONTRAST = 4.5;

/** Custom properties for `branding.color` (`#rgb` or `#rrggbb`); for none, or another form, style.css's own colour stays. */
export function brandingCss(branding: Partial<Branding>): string {
  const accent = parseHex(branding.color);
  if (!accent) return '';
  const onAccent = contrast(accent, WHITE) >= MIN_CONTRAST ? WHITE : BLACK;
  // Away from the text's colour: contrast only grows.
  const hover = mix(accent, onAccent === WHITE ? BLACK : WHITE, 0.15);
  return `:root {
  --accent: ${toHex(accent)};
  --on-accent: ${toHex(onAccent)};
  --accent-hover: ${toHex(hover)};
}
`;
}

function parseHex(color: string | undefined): Rgb | undefined {
  const digits = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(color ?? '')?.[1];
  if (digits === undefined) return undefined;
  const long = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
  const channel = (index: number) => Number.parseInt(long.slice(index * 2, index * 2 + 2), 16);
  return [channel(0), channel(1), channel(2)];
}

function toHex(color: Rgb): string {
  return `#${color.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}

function mix([red, green, blue]: Rgb, [toRed, toGreen, toBlue]: Rgb, share: number): Rgb {
  const between = (from: number, to: number) => Math.round(from + (to - from) * share);
  return [between(red, toRed), between(green, toGreen), between(blue, toBlue)];
}

/** WCAG 2.2, "contrast ratio". */
function contrast(one: Rgb, other: Rgb): number {
  const [a, b] = [luminance(one) + 0.05, luminance(other) + 0.05];
  return Math.max(a, b) / Math.min(a, b);
}

/** WCAG 2.2, "relative luminance". */
function luminance([red, green, blue]: Rgb): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

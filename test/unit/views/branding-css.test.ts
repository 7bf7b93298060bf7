// The administrator's colour: which notations are valid, and that text on it stays readable.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brandingCss } from '../../../src/views/branding-css.ts';

const inkOf = (text: string) => (text.includes('--on-accent: white;') ? '#ffffff' : '#000000');

/** WCAG relative luminance of `#rrggbb`. */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(one: string, other: string): number {
  const [a, b] = [luminance(one) + 0.05, luminance(other) + 0.05];
  return Math.max(a, b) / Math.min(a, b);
}

describe('brandingCss', () => {
  it('takes #rrggbb and #rgb', () => {
    expect(brandingCss('#0B6E4F')).toContain('--accent: #0B6E4F;');
    expect(brandingCss('#fc0')).toContain('--accent: #ffcc00;');
  });

  it('is empty without a colour, and for anything that could be more than one', () => {
    const others = ['', 'red', '#12', '#12345', '#1234567', ' #123456', '#123456\n'];
    const more = ['#fff; } body { display: none', '#fff}@import "//evil.example"', '"><script>'];
    for (const color of [undefined, ...others, ...more, 'url(https://evil.example)'])
      expect(brandingCss(color)).toBe('');
  });

  it('keeps the contrast of text at AA on every colour', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
        const color = `#${value.toString(16).padStart(6, '0')}`;
        expect(contrast(color, inkOf(brandingCss(color)))).toBeGreaterThanOrEqual(4.5);
      }),
      { numRuns: 2000 },
    );
  });
});

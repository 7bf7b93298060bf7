// The operator's colour: which forms count, and that text on it stays readable.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { brandingCss } from '../../../src/views/branding-css.ts';

const css = (color?: string) => brandingCss(color);

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
    expect(css('#0B6E4F')).toContain('--accent: #0B6E4F;');
    expect(css('#fc0')).toContain('--accent: #ffcc00;');
  });

  it('puts dark text on a light colour and light text on a dark one', () => {
    expect(inkOf(css('#ffcc00'))).toBe('#000000');
    expect(inkOf(css('#1b1f6b'))).toBe('#ffffff');
  });

  it('is empty without a colour, and for anything that could be more than one', () => {
    const others = [
      undefined,
      '',
      'red',
      '#12',
      '#12345',
      '#1234567',
      ' #123456',
      '#123456\n',
      'url(https://evil.example)',
      '#fff; } body { display: none',
      '#fff}@import "//evil.example"',
      '"><script>',
    ];
    for (const color of others) expect(css(color)).toBe('');
  });

  it('keeps the contrast of text at AA on every colour', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 0xffffff }), (value) => {
        const color = `#${value.toString(16).padStart(6, '0')}`;
        expect(contrast(color, inkOf(css(color)))).toBeGreaterThanOrEqual(4.5);
      }),
      { numRuns: 2000 },
    );
  });
});

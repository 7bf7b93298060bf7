// The administrator's colour, and colours derived from it, as a stylesheet: the CSP allows no inline style.

// Where white doesn't reach the contrast of WCAG 1.4.3 (4.5), black does: each colour reaches it with one of them.
const MAX_LUMINANCE_UNDER_WHITE = 1.05 / 4.5 - 0.05;

/** Returns custom properties for `#rgb` or `#rrggbb`; for any other value, style.css's own colour stays. */
export function brandingCss(color: string | undefined): string {
  const digits = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(color ?? '')?.[1];
  if (digits === undefined) return '';
  const long = digits.length === 3 ? digits.replace(/./g, '$&$&') : digits;
  const [text, away] = luminance(long) <= MAX_LUMINANCE_UNDER_WHITE ? ['white', 'black'] : ['black', 'white'];
  // Away from the color of the text, so that contrast increases.
  return `:root {
  --accent: #${long};
  --on-accent: ${text};
  --accent-hover: color-mix(in srgb, #${long} 85%, ${away});
}
`;
}

/** WCAG 2.2, "relative luminance". */
function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [0, 2, 4].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

// A plot as an SVG that is read on light and on dark pages: curves over a few points, axes with their labels, nothing more.

export type Curve = { readonly name: string; readonly points: readonly (readonly [number, number])[] };
export type Plot = {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  /** By powers of ten; a zero then stands where one would. */
  readonly isLogarithmic?: boolean;
  readonly curves: readonly Curve[];
};

const [WIDTH, HEIGHT] = [640, 360];
const MARGIN = { left: 70, right: 40, top: 36, bottom: 50 };
/** Below the title, as many in a row as have room. */
const LEGEND = { inRow: 3, width: 180, height: 16 };
/** Recorded apart on white and on black, and by those who see few colors; dashes help where there is no color. */
const LINES = [
  { color: '#0072b2', dash: '' },
  { color: '#d55e00', dash: '6 3' },
  { color: '#009e73', dash: '2 3' },
  { color: '#cc79a7', dash: '8 3 2 3' },
] as const;
/** Gray in the middle: readable on both. */
const INK = '#808080';

export function toSvg({ title, x, y, isLogarithmic = false, curves }: Plot): string {
  const points = curves.flatMap((curve) => curve.points);
  const legendRows = Math.ceil(curves.length / LEGEND.inRow);
  const frame = { ...MARGIN, top: MARGIN.top + legendRows * LEGEND.height };
  const place = (value: number) => (isLogarithmic ? Math.log10(Math.max(1, value)) : value);
  const xs = [...new Set(points.map(([at]) => at))].toSorted((a, b) => a - b);
  const end = xs.at(-1) ?? 1;
  const [first, last] = isLogarithmic ? [place(xs[0] ?? 0), place(end)] : [0, roundUp(end)];
  const top = roundUp(Math.max(...points.map(([, value]) => value), 0));
  const width = WIDTH - frame.left - frame.right;
  const height = HEIGHT - frame.top - frame.bottom;
  const toX = (value: number) => frame.left + ((place(value) - first) / (last - first || 1)) * width;
  const toY = (value: number) => frame.top + height - (value / top) * height;
  const bottom = frame.top + height;
  const label = (at: readonly [number, number], text: string, more = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" ${more}>${escape(text)}</text>`;

  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => {
    const at = toY(part * top);
    return [
      `<path d="M${frame.left} ${at.toFixed(1)}H${WIDTH - frame.right}" stroke-opacity="0.3"/>`,
      label([frame.left - 8, at + 4], toText(part * top), 'text-anchor="end"'),
    ];
  });
  const marks = isLogarithmic ? xs : [0, 0.25, 0.5, 0.75, 1].map((part) => first + part * (last - first));
  const lines = curves.flatMap(({ name, points: own }, index) => {
    const { color, dash } = LINES[index % LINES.length] ?? LINES[0];
    const path = own.map(([at, value]) => `${toX(at).toFixed(1)} ${toY(value).toFixed(1)}`).join('L');
    const legend = frame.left + (index % LEGEND.inRow) * LEGEND.width;
    const legendY = 36 + Math.floor(index / LEGEND.inRow) * LEGEND.height;
    return [
      `<path d="M${path}" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`,
      ...own.map(
        ([at, value]) =>
          `<circle cx="${toX(at).toFixed(1)}" cy="${toY(value).toFixed(1)}" r="3" fill="${color}" stroke="none"/>`,
      ),
      `<path d="M${legend} ${legendY}h20" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`,
      label([legend + 25, legendY + 4], name),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escape(title)}</title>`,
    `<g fill="none" stroke="${INK}"><path d="M${frame.left} ${frame.top}V${bottom}H${WIDTH - frame.right}"/>`,
    ...[...grid, ...lines].filter((element) => !element.startsWith('<text')),
    `</g><g fill="${INK}">`,
    label([WIDTH / 2, 16], title, 'text-anchor="middle" font-size="14"'),
    ...[...grid, ...lines].filter((element) => element.startsWith('<text')),
    ...marks.map((mark) => label([toX(mark), bottom + 18], toText(mark), 'text-anchor="middle"')),
    label([frame.left + width / 2, HEIGHT - 12], x, 'text-anchor="middle"'),
    label(
      [16, frame.top + height / 2],
      y,
      `text-anchor="middle" transform="rotate(-90 16 ${frame.top + height / 2})"`,
    ),
    '</g></svg>',
    '',
  ].join('\n');
}

/** To 1, 2, 4, 5 or 8 and zeros, so that quarters are plain numbers. */
function roundUp(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 5, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

function toText(value: number): string {
  return Number.isInteger(value) ? value.toLocaleString('en') : value.toPrecision(3).replace(/\.?0+$/, '');
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

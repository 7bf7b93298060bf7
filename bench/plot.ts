// A plot as an SVG that is read on light and on dark pages: curves over a few points, axes with their labels, nothing more.
import { mkdir, writeFile } from 'node:fs/promises';

export const RESULTS_FOLDER = 'bench/results';

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
const FRAME = { left: 70, right: 20, top: 40, bottom: 50 };
/** Told apart on white and on black, and by those who see few colors; dashes help where there is no color. */
const LINES = [
  { color: '#0072b2', dash: '' },
  { color: '#d55e00', dash: '6 3' },
  { color: '#009e73', dash: '2 3' },
  { color: '#cc79a7', dash: '8 3 2 3' },
] as const;
/** Gray in the middle: readable on both. */
const INK = '#808080';

/** Writes bench/results/NAME.svg. */
export async function plot(name: string, drawing: Plot): Promise<void> {
  await mkdir(RESULTS_FOLDER, { recursive: true });
  await writeFile(`${RESULTS_FOLDER}/${name}.svg`, toSvg(drawing));
}

export function toSvg({ title, x, y, isLogarithmic = false, curves }: Plot): string {
  const points = curves.flatMap((curve) => curve.points);
  const place = (value: number) => (isLogarithmic ? Math.log10(Math.max(1, value)) : value);
  const xs = [...new Set(points.map(([at]) => at))].toSorted((a, b) => a - b);
  const [first, last] = [place(xs[0] ?? 0), place(xs.at(-1) ?? 1)];
  const top = roundUp(Math.max(...points.map(([, value]) => value), 0));
  const width = WIDTH - FRAME.left - FRAME.right;
  const height = HEIGHT - FRAME.top - FRAME.bottom;
  const toX = (value: number) => FRAME.left + ((place(value) - first) / (last - first || 1)) * width;
  const toY = (value: number) => FRAME.top + height - (value / top) * height;
  const bottom = FRAME.top + height;
  const label = (at: readonly [number, number], text: string, more = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" ${more}>${escape(text)}</text>`;

  const grid = [0, 0.25, 0.5, 0.75, 1].flatMap((part) => {
    const at = toY(part * top);
    return [
      `<path d="M${FRAME.left} ${at.toFixed(1)}H${WIDTH - FRAME.right}" stroke-opacity="0.3"/>`,
      label([FRAME.left - 8, at + 4], toText(part * top), 'text-anchor="end"'),
    ];
  });
  const marks = isLogarithmic ? xs : [0, 0.25, 0.5, 0.75, 1].map((part) => first + part * (last - first));
  const lines = curves.flatMap(({ name, points: own }, index) => {
    const { color, dash } = LINES[index % LINES.length] ?? LINES[0];
    const path = own.map(([at, value]) => `${toX(at).toFixed(1)} ${toY(value).toFixed(1)}`).join('L');
    const legend = FRAME.left + 10 + index * 150;
    return [
      `<path d="M${path}" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`,
      ...own.map(
        ([at, value]) =>
          `<circle cx="${toX(at).toFixed(1)}" cy="${toY(value).toFixed(1)}" r="3" fill="${color}" stroke="none"/>`,
      ),
      `<path d="M${legend} 30h20" stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"/>`,
      label([legend + 25, 34], name),
    ];
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${escape(title)}</title>`,
    `<g fill="none" stroke="${INK}"><path d="M${FRAME.left} ${FRAME.top}V${bottom}H${WIDTH - FRAME.right}"/>`,
    ...[...grid, ...lines].filter((element) => !element.startsWith('<text')),
    `</g><g fill="${INK}">`,
    label([WIDTH / 2, 16], title, 'text-anchor="middle" font-size="14"'),
    ...[...grid, ...lines].filter((element) => element.startsWith('<text')),
    ...marks.map((mark) => label([toX(mark), bottom + 18], toText(mark), 'text-anchor="middle"')),
    label([FRAME.left + width / 2, HEIGHT - 12], x, 'text-anchor="middle"'),
    label(
      [16, FRAME.top + height / 2],
      y,
      `text-anchor="middle" transform="rotate(-90 16 ${FRAME.top + height / 2})"`,
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

// Curves over a few sizes as an SVG that is legible on light and dark pages: x by powers of ten, y from 0.

export type Plot = {
  readonly title: string;
  readonly x: string;
  readonly curves: readonly {
    readonly name: string;
    readonly points: readonly (readonly [number, number])[];
  }[];
};

const [WIDTH, HEIGHT] = [640, 360];
const [LEFT, TOP, RIGHT, BOTTOM] = [70, 56, 600, 310];
/** Few colors, distinct on white and on black; dashes help where there is no color. */
const LINES = [
  ['#0072b2', ''],
  ['#d55e00', '6 3'],
  ['#009e73', '2 3'],
] as const;
/** Middle gray, legible on both. */
const INK = '#808080';

export function toSvg({ title, x, curves }: Plot): string {
  const points = curves.flatMap((curve) => curve.points);
  const xs = [...new Set(points.map(([at]) => at))].toSorted((a, b) => a - b);
  const place = (value: number) => Math.log10(Math.max(1, value));
  const [first, last] = [place(xs[0] ?? 0), place(xs.at(-1) ?? 1)];
  const top = roundUp(Math.max(...points.map(([, value]) => value)));
  const toX = (value: number) =>
    LEFT + 20 + ((place(value) - first) / (last - first || 1)) * (RIGHT - LEFT - 40);
  const toY = (value: number) => BOTTOM - (value / top) * (BOTTOM - TOP);
  const text = (at: readonly [number, number], words: string, more = '') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" fill="${INK}" stroke="none" ${more}>${words}</text>`;
  const middle = 'text-anchor="middle"';
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" font-family="system-ui, sans-serif" font-size="12">`,
    `<title>${title}</title>`,
    `<g fill="none" stroke="${INK}"><path d="M${LEFT} ${TOP}V${BOTTOM}H${RIGHT}"/>`,
    ...[0, 0.5, 1].flatMap((part) => [
      `<path d="M${LEFT} ${toY(part * top)}H${RIGHT}" stroke-opacity="0.3"/>`,
      text([LEFT - 8, toY(part * top) + 4], String(part * top), 'text-anchor="end"'),
    ]),
    ...xs.map((at) => text([toX(at), BOTTOM + 18], at.toLocaleString('en'), middle)),
    ...curves.flatMap(({ name, points: own }, index) => {
      const [color, dash] = LINES[index % LINES.length] ?? LINES[0];
      const line = own.map(([at, value]) => `${toX(at).toFixed(1)} ${toY(value).toFixed(1)}`).join('L');
      const legend = LEFT + index * 180;
      return [
        `<g stroke="${color}" stroke-width="2" stroke-dasharray="${dash}"><path d="M${line}"/><path d="M${legend} 36h20"/></g>`,
        text([legend + 25, 40], name),
      ];
    }),
    text([WIDTH / 2, 16], title, `${middle} font-size="14"`),
    text([(LEFT + RIGHT) / 2, HEIGHT - 12], x, middle),
    text([16, (TOP + BOTTOM) / 2], 'CPU µs', `${middle} transform="rotate(-90 16 ${(TOP + BOTTOM) / 2})"`),
    '</g></svg>\n',
  ].join('\n');
}

/** Rounds up to 1, 2, 4, 6, 8 or 10 times a power of ten, so that the half is a plain number. */
function roundUp(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 6, 8, 10].find((step) => step * power >= value) ?? 10) * power;
}

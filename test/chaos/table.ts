// A run of chaos as a table.
import type { Balancer } from './balancer.ts';
import type { History, Operation } from './history.ts';

const OPERATIONS: readonly Operation[] = [
  'sign in',
  'redeem',
  'refresh',
  'revoke',
  'introspect',
  'machine token',
];

/** `backMs`: the longest time until all nodes were back after the fault ended. */
export type Happening = { readonly times: number; readonly backMs: number };
export type Happened = ReadonlyMap<string, Happening>;

export type Run = {
  readonly title: string;
  readonly seconds: number;
  readonly happened: Happened;
  readonly history: History;
  readonly balancer: Balancer;
};

export function toTable({ title, seconds, happened, history, balancer }: Run): string {
  const { answered, unavailable, cut } = balancer.fates;
  const counts = history.counts;
  const lines = [
    ['', 'done', 'refused', '503 or cut'],
    ...OPERATIONS.map((name) => [
      name,
      ...['done', 'refused', 'unknown'].map((outcome) => String(counts[`${name} ${outcome}`] ?? 0)),
    ]),
  ];
  const faults = [...happened].map(([name, { times, backMs }]) => `${name} ${times} (${backMs})`);
  return [
    `${title}, ${Math.round(seconds)} s`,
    `  faults, how often (and ms until all nodes were back, at most): ${faults.join(', ')}`,
    `  requests: ${Math.round((answered + unavailable + cut) / seconds)} a second; ${answered} answered, ${unavailable} 503 with Retry-After, ${cut} cut`,
    `  answers within: ${balancer.percentile(0.5)} ms (half), ${balancer.percentile(0.99)} ms (99 %), ${balancer.percentile(1)} ms (all)`,
    ...lines.map(
      ([name = '', ...rest]) => `  ${name.padEnd(14)}${rest.map((one) => one.padStart(12)).join('')}`,
    ),
    `  refused without a reason but the fault: ${history.lost().length}; spent twice or alive after its end: ${history.violations().length}; read from an old master: ${history.stale().length}`,
    '',
  ].join('\n');
}

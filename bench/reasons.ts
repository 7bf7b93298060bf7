// Why a target is missed, in words: looked up when results.md is written, so that they can be put right without measuring again.
// Owns no figure.

/** The beginning of a target's name; the first that fits is taken. */
const REASONS: readonly (readonly [string, string])[] = [
  [
    'token rate / B',
    'the signature is dearer on this CPU than the one that the goal was set on, so the bare engine, too, is mostly signature',
  ],
  [
    'token rate / @node-oauth/oauth2-server',
    'the peer counts nothing, logs nothing and limits nothing; its client is in memory',
  ],
  ['token rate / S1', 'see the CPU beside the signature'],
  ['CPU of a token / signature', 'see the CPU beside the signature'],
  [
    'CPU µs of a token beside its signature',
    'handing the signature to the thread pool and back, HTTP, and the guards: limits, log, audit trail, metrics, headers',
  ],
  [
    'introspection rate',
    'the request goes through the engine, and a JWT costs a signature check that an opaque token does not',
  ],
  ['discovery rate', 'each request is counted, measured, checked and given its headers'],
  ['JWKS rate', 'each request is counted, measured, checked and given its headers'],
  ['refresh rate', 'store operations that wait for one another; the load generator shares the cores'],
  ['CPU ms of a code flow', 'eight requests with their pages, forms and records, and two signatures'],
  ['CPU ms of a flow', 'requests with their pages, forms and records, and two signatures'],
  ['sign-in rate', 'the request waits for store operations around its hash'],
  ['p99 of a machine token beside', 'hashes of eight milliseconds keep the same two cores busy'],
  [
    'ms until a changed file',
    'of this, 400 ms are the wait until a file is whole, and 50 ms gather its events',
  ],
  ['sequential store trips', 'the engine reads and writes record by record'],
];

export function reasonOf(what: string): string {
  return REASONS.find(([beginning]) => what.startsWith(beginning))?.[1] ?? '';
}

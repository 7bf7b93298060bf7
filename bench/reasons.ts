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
    'a JWT costs a signature check or a look-up of one, and the answer the guards: limits, headers, metrics; on Redis also a trip of its own',
  ],
  ['discovery rate', 'each request is counted, measured and checked'],
  ['JWKS rate', 'each request is counted, measured and checked'],
  [
    'refresh rate',
    'of 1.7 ms a refresh, 0.8 are its two signatures; the rest is the engine, eight records and the guards',
  ],
  [
    'CPU ms of a code flow',
    'eight requests with their pages, forms and records, two signatures of 0.4 ms, and what hashes beside all that cost in the caches; the profile is flat',
  ],
  ['CPU ms of a flow', 'five requests with their page, form and records, and two signatures of 0.4 ms'],
  ['sign-in rate', 'the request waits for store operations around its hash'],
  [
    'p99 of a machine token beside',
    'hashes go behind everything else, but the sign-ins around them, and the generator, share the same two cores',
  ],
  [
    'ms until a changed file',
    'of this, 400 ms are the wait until a file is whole, and 50 ms gather its events',
  ],
  [
    'MB of memory a worker, idle',
    'about 90 of them are pages of the Node binary itself, which processes share; as many as happen to be in memory count',
  ],
  [
    'sequential store trips',
    'eight requests, each with a read and most with a write; the engine and LG-19 (the same questions whoever signs in) give the order of the rest',
  ],
];

export function reasonOf(what: string): string {
  return REASONS.find(([beginning]) => what.startsWith(beginning))?.[1] ?? '';
}

// Why a target is missed, in words: looked up when results.md is written, so that they can be put right without measuring again.
// Owns no figure.

/** The beginning of a target's name; the first that fits is taken. */
const REASONS: readonly (readonly [string, string])[] = [
  [
    'token rate / B',
    'the signature is dearer on this CPU than the one that the goal was set on: it is 65 % of what the bare engine costs, so whoever added nothing to it would reach 1.55',
  ],
  [
    'token rate / @node-oauth/oauth2-server',
    'the peer counts nothing, logs nothing and limits nothing; its client is in memory',
  ],
  ['token rate / S1', 'see the CPU beside the signature'],
  ['CPU of a token / signature', 'see the CPU beside the signature'],
  [
    'CPU µs of a token beside its signature',
    'handing the signature to the thread pool and back, HTTP, and the guards: limits, log, audit trail, metrics, headers; the peer, which has none of them, needs as much on this machine',
  ],
  [
    "introspection rate / bare engine's: postern, redis",
    'as on lmdb, and 20 µs for the question to Redis whether the token was revoked',
  ],
  ['introspection rate', 'HTTP, a look-up of the signature, and the guards: limits, headers, metrics'],
  ['discovery rate', 'each request is counted, measured and checked'],
  ['JWKS rate', 'each request is counted, measured and checked'],
  [
    'refresh rate',
    'of 1.6 ms a refresh, 0.8 are its two signatures, in threads; the engine, its records and the guards are the other 0.8, on the one event loop, which nothing shortens by half: no function in it has more than a twentieth',
  ],
  [
    'CPU ms of a code flow',
    'eight requests of about a millisecond, with pages, forms and records, and two signatures of 0.4 ms; the goal was set on four requests without pages. In a profile the engine has 15 %, the store 15 %, hashes and signatures of node:crypto 10 %, and no function more than 5 %',
  ],
  [
    'CPU ms of a flow',
    'five requests of about a millisecond, with a page, a form and records, and two signatures of 0.4 ms',
  ],
  ['sign-in rate', 'the request waits for store operations around its hash'],
  [
    'p99 of a machine token beside',
    'hashes go behind everything else, but each request of a sign-in holds the event loop for about a millisecond, and the generator shares the two cores; idle a token is there in less than that',
  ],
  [
    'p50 of a token with',
    'both are there in less than a third of a millisecond, and the generator’s timers were early by more than that; they have been put right since',
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

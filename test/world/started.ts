// The parts that a block of tests starts before its first test, and stops after its last.
import { afterAll, beforeAll } from 'vitest';

type Part = Partial<Record<'stop' | 'end' | 'close' | 'quit', () => unknown>> | undefined;

/** Starts a part before all tests of a block, and stops it after them. The part that started last stops first. */
export function useStarted<T extends Part>(start: () => Promise<T>): () => T {
  let started: { readonly part: T } | undefined;
  beforeAll(async () => {
    started = { part: await start() };
  });
  afterAll(async () => {
    const part: Part = started?.part;
    await (part?.stop?.() ?? part?.quit?.() ?? part?.end?.() ?? part?.close?.());
  });
  return () => {
    if (started === undefined) throw new Error('the part has not been started');
    return started.part;
  };
}

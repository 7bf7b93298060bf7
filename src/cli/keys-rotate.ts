// `postern keys rotate`: the next key signs as soon as every verifier can know it; with --due, only what the running
// service would do now. For operators and for cron.
import type { Command } from 'commander';
import { activeKey, scheduledKeys, type Ring } from '../keys/ring.ts';
import { rotateByHand, runDueSteps } from '../keys/ring-actions.ts';
import { nextStep } from '../keys/schedule.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { print, type CliIo } from './io.ts';
import { reportKeys, toIso, withKeys, type KeysContext } from './keys.ts';

type RotateOptions = VerbOptions & { readonly due?: boolean };

/** Adds the verb to the group `keys`. */
export function registerKeysRotate(keys: Command, io: CliIo): void {
  addVerb(keys, 'rotate', 'let the next key sign as soon as every verifier can know it')
    .option('--due', 'only take the steps that are due by the configured times')
    .action((options: RotateOptions) =>
      withKeys(options, async (context) => {
        const { keyStore, now } = context;
        const before = await keyStore.load();
        // A rotation by hand comes first, because what it schedules is no longer due afterwards.
        const appointed = options.due === true ? before : await rotateByHand(keyStore, now);
        const ring = await runDueSteps(keyStore, now, appointed);
        const changed = ring.generation !== before.generation;
        print(io, options, {
          value: { changed, generation: ring.generation, keys: reportKeys(ring, now(), keyStore) },
          text: `${changed ? '' : 'Nothing to change. '}${toSentence(ring, context)}\n`,
        });
      }),
    );
}

function toSentence(ring: Ring, { keyStore, now }: KeysContext): string {
  const next = scheduledKeys(ring, now())[0];
  if (next?.activateAt === undefined) {
    const step = nextStep(ring, now(), keyStore.timing);
    return step === undefined
      ? 'Nothing is planned.'
      : `The next step, ${step.kind}, is due ${toIso(step.at)}.`;
  }
  const active = activeKey(ring, now());
  const until = active?.removeAt === undefined ? '' : `, and verifies until ${toIso(active.removeAt)}`;
  return `${next.kid} signs from ${toIso(next.activateAt)}. Until then ${active?.kid ?? 'no key'} signs${until}.`;
}

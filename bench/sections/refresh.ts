// Refresh: each connection spends its own chain of refresh tokens. Two signatures each, access token and ID token.
import { generated } from '../generated.ts';
import { measureRounds, over, sliceOf } from '../rounds.ts';
import * as section from '../section.ts';

/** Refreshes that a process has seen before its are measured. */
const WARM = 2000;

export async function refresh(stage: section.Stage): Promise<section.Findings> {
  const services = await section.onBothStores(stage);
  const given = { mode: 'refresh', parallel: 32, people: 100, warm: WARM } as const;
  const subjects = services.map((service) => generated(stage, service, given));
  const rounds = await measureRounds([section.signing(2), ...subjects], stage.options);
  const toLimit = (name: string) =>
    over(rounds, (round) => sliceOf(round, name).perSecond / (sliceOf(round, section.S2).perSecond / 2));
  return {
    tables: [section.tableOf('Refresh', rounds, { '× S2/2': toLimit })],
    targets: services.map(({ name }) =>
      section.atLeast(`refresh rate / (S2/2): ${name}`, toLimit(name), 0.65),
    ),
    raw: section.plain(rounds),
  };
}

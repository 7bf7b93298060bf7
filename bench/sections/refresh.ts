// Refresh: each connection spends its own chain of refresh tokens. Two signatures each, access token and ID token.
import { generated } from '../generated.ts';
import { measureRounds } from '../rounds.ts';
import * as section from '../section.ts';

/** Refreshes that a process has seen before its are measured. */
const WARM = 4000;

export async function refresh(stage: section.Stage): Promise<section.Findings> {
  const services = [await stage.bareEngine(), ...(await section.onBothStores(stage))];
  const given = { mode: 'refresh', parallel: 16, people: 100, warm: WARM } as const;
  const subjects = services.map((service) => generated(stage, service, given));
  const rounds = await measureRounds([section.signing(1), ...subjects], stage.options);
  const toBare = (name: string) => section.besideRatio(rounds, name, section.BARE, 2);
  const ours = services.slice(1);
  return {
    tables: [section.tableOf('Refresh', rounds, { '× bare engine, beside two signatures': toBare })],
    targets: ours.map(({ name }) =>
      section.atMost(`refresh: CPU beside two signatures / the bare engine's: ${name}`, toBare(name), 1.3, 1),
    ),
    raw: section.plain(rounds),
  };
}

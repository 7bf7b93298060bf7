// What another configuration would change, and what that means for those who use the service. Pure: both sides are
// loaded already. Owns the result; plan-*.ts look at one part each.
import type { Config } from './config.ts';
import type { LoadedConfig } from './load.ts';
import { planClients } from './plan-clients.ts';
import { planPeople } from './plan-people.ts';
import { planResources } from './plan-resources.ts';
import { planService } from './plan-service.ts';
import { secretWarnings } from './secret-expiry.ts';

/** info: worth knowing, nothing changes. change: something changes. breaking: something that works now stops working. */
export type Severity = 'info' | 'change' | 'breaking';

export type PlanItem = {
  readonly severity: Severity;
  /** Where, as `clients[web].redirect_uris`. */
  readonly path: string;
  /** What, and what follows from it. Never a secret. */
  readonly message: string;
};

export type Plan = {
  readonly result: 'nothing' | 'changes' | 'breaking';
  readonly items: readonly PlanItem[];
};

/** One of the two configurations that are compared. */
export type PlanSide = Pick<LoadedConfig, 'config' | 'generatedKeys'> & {
  /** The folder of its file: relative paths that are the same on both sides are no difference. */
  readonly folder: string;
};

export type Sides<T = Config> = { readonly current: T; readonly next: T };

/** What would happen if `next` took the place of `current` at `now`, in epoch seconds. */
export function toPlan(current: PlanSide, next: PlanSide, now: number): Plan {
  const configs = { current: current.config, next: next.config };
  const items = [
    ...planService({ current, next }),
    ...planResources(configs),
    ...planClients(configs, now),
    ...planPeople(configs),
    ...secretWarnings(next.config.clients, now).map(({ clientId, message }) => ({
      severity: 'info' as const,
      path: `clients[${clientId}].client_secrets`,
      message,
    })),
  ];
  return { result: resultOf(items), items };
}

function resultOf(items: readonly PlanItem[]): Plan['result'] {
  if (items.some(({ severity }) => severity === 'breaking')) return 'breaking';
  return items.some(({ severity }) => severity === 'change') ? 'changes' : 'nothing';
}

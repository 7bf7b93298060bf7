// User codes of devices: how often they are tried, and how often a device may ask about its own.
import type { Rate } from '../config/config.ts';
import type { KeyedHash } from '../store/keyed-hash.ts';
import type { CounterStore } from '../store/store.ts';
import type { Attempts, LimitRefusal } from './attempts.ts';

/** Wrong codes. Of 20^8 codes a few live at a time; all addresses together find none in a lifetime of guessing (RFC 8628 §5.1). */
const RATES = {
  'device.address': { limit: 10, windowSeconds: 10 * 60 },
  'device.session': { limit: 10, windowSeconds: 10 * 60 },
  'device.all': { limit: 300, windowSeconds: 10 * 60 },
} satisfies Record<string, Rate>;

export const DEVICE_LIMITS: readonly string[] = Object.keys(RATES);

/** As long as a device code lives. */
const POLLS_MS = 20 * 60 * 1000;
const STEP_SECONDS = 5;

export interface DeviceLimits {
  /** Counts one try before it is looked up; the result takes it back. Throws TooManyRequests, and StoreUnavailable. */
  takeUserCode(address: string, session: string): Promise<() => void>;
  /** False: too early. From then on each interval is longer. Throws StoreUnavailable. */
  takeDevicePoll(deviceCode: string, intervalSeconds: number): Promise<boolean>;
}

export type DeviceLimitsParts = {
  readonly attempts: Pick<Attempts, 'begin'>;
  readonly counters: CounterStore;
  readonly hash: KeyedHash;
  readonly refuse: (refusal: LimitRefusal, request: { readonly address: string }) => never;
};

export function createDeviceLimits({ attempts, counters, hash, refuse }: DeviceLimitsParts): DeviceLimits {
  return {
    async takeUserCode(address, session) {
      const subjects = { 'device.address': address, 'device.session': session, 'device.all': '' };
      const quotas = (['device.address', 'device.session', 'device.all'] as const).map((name) => ({
        name,
        rate: RATES[name],
        subject: subjects[name],
      }));
      const { refused, takeBack } = await attempts.begin(quotas);
      if (refused !== undefined) refuse(refused, { address });
      return takeBack;
    },
    async takeDevicePoll(deviceCode, intervalSeconds) {
      const slower = hash(`device poll steps:${deviceCode}`);
      const window = hash(`device poll:${deviceCode}`);
      const steps = (await counters.read(slower))?.count ?? 0;
      const waitMs = (intervalSeconds + steps * STEP_SECONDS) * 1000;
      const { count } = await counters.increment(window, 1, waitMs);
      if (count === 1) return true;
      await counters.increment(slower, 1, POLLS_MS);
      await counters.set(window, 1, waitMs + STEP_SECONDS * 1000);
      return false;
    },
  };
}

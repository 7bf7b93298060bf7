// Which pages a user has of their own: those of the features that are on.
import type { Config } from '../config/config.ts';
import { DEVICE_PATH } from '../config/endpoints.ts';
import type { PageParts } from '../features/page-parts.ts';
import type { Host } from './host.ts';
import { callbackOf, type Route } from './own-page.ts';

/** Where the own client comes back to; none where there are no such pages. */
export function ownCallbacksOf({ features }: Pick<Config, 'features'>): readonly string[] {
  return features.deviceFlow ? [callbackOf(DEVICE_PATH)] : [];
}

export function ownPages(host: Host, features: readonly PageParts[]): readonly Route[] {
  const sections = features.flatMap((one) => one.sections?.(host) ?? []);
  return features.flatMap((one) => one.routes?.(host, sections) ?? []);
}

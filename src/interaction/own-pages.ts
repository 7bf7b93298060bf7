// Which pages a user has of their own: those of the features that are on.
import type { PageParts } from '../features/page-parts.ts';
import type { Host } from './host.ts';
import type { Route } from './own-page.ts';

export function ownPages(host: Host, features: readonly PageParts[]): readonly Route[] {
  const sections = features.flatMap((one) => one.sections?.(host) ?? []);
  return features.flatMap((one) => one.routes?.(host, sections) ?? []);
}

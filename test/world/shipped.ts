// Copies of the project without some features are tested as well.
import { FEATURES } from '../../src/features/index.ts';

/** Whether this source has the feature. */
export const isShipped = (name: string): boolean =>
  FEATURES.some((feature: { readonly name: string }) => feature.name === name);

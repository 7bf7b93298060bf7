// Copies of the project without some features are also tested.
import { FEATURES } from '../../src/features/index.ts';

/** Whether this source includes the feature. */
export const isShipped = (name: string): boolean =>
  FEATURES.some((feature: { readonly name: string }) => feature.name === name);

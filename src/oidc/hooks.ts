// An application with what its features decide in it.
import { guardOf, type Parts } from '../features/parts.ts';
import type { App } from './app.ts';
import { createDisclose } from './policies/token-policies.ts';

export type Hooked = ReturnType<typeof withFeatures>;

export function withFeatures(app: App, features: readonly Parts[]) {
  const guard = guardOf(features);
  const { narrowing } = features.find((one) => one.narrowing !== undefined) ?? {};
  const { enrolment } = features.find((one) => one.enrolment !== undefined) ?? {};
  return { ...app, features, guard, narrowing, enrolment, disclose: createDisclose({ ...app, guard }) };
}

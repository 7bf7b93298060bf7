// The device flow, while it is on: its codes in the store, its pages, and its middleware.
import type { App } from '../../oidc/app.ts';
import type { Parts } from '../parts.ts';
import { createDeviceCodeAdapter } from './codes.ts';
import { aroundDevices } from './around.ts';
import { createDevicePages } from './pages.ts';

/** Ten minutes, for a user who has to find the page and sign in (RFC 8628 §6.1). */
const CODE_SECONDS = 600;

export const open = (app: App): Parts => ({
  engine: {
    features: { deviceFlow: { enabled: true, ...createDevicePages(app) } },
    ttl: { DeviceCode: () => CODE_SECONDS },
  },
  guard: { isPlain: () => true },
  adapter: (model) => (model === 'DeviceCode' ? createDeviceCodeAdapter(app) : undefined),
  around: () => aroundDevices(app),
});

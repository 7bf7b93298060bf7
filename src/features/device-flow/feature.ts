// The device flow (RFC 8628): a device without a browser signs a user in with a code that they enter elsewhere.
import * as z from 'zod';
import { CLIENT, PAGE } from '../../config/endpoint-rows.ts';
import { MINUTE } from '../../config/notation.ts';
import type { Rule } from '../../config/rules.ts';
import type { Declaration } from '../feature.ts';
import { device } from './models.ts';

/** RFC 8628 §3.4. */
export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
/** Where users type the code that a device shows (RFC 8628 §3.3). */
export const DEVICE_PATH = '/device';
export const CALLBACK_PATH = `${DEVICE_PATH}/callback`;

type Settings = { readonly features: { readonly deviceFlow: boolean } };

const isOffered: Rule<{ readonly grant_types: readonly string[] }, Settings> = {
  at: 'grant_types',
  fault: ({ grant_types: types }, { features }) =>
    types.includes(DEVICE_CODE_GRANT) && !features.deviceFlow
      ? 'the device flow is off: turn it on with features.device_flow'
      : undefined,
};

const PER_WINDOW = { windowSeconds: 10 * MINUTE };

export const deviceFlow = {
  name: 'device-flow',
  switches: {
    device_flow: z
      .boolean()
      .default(false)
      .describe(
        'Device flow (RFC 8628): users of devices without a browser sign in by entering a code on another device. For clients with that grant type.',
      ),
  },
  clientRules: [isOffered],
  grants: [{ type: DEVICE_CODE_GRANT, begins: 'device_authorization', resumes: 'device_resume' }],
  endpoints: [
    {
      ...CLIENT,
      name: 'deviceAuthorization',
      path: '/oauth/device_authorization',
      route: 'device_authorization',
      isMounted: true,
      limit: 'token',
      publicLimit: 'device_authorization',
      // The request is stored as long as its codes, and anyone can send one as a public client.
      maxBytes: 4 * 1024,
    },
    {
      ...PAGE,
      name: 'device',
      path: DEVICE_PATH,
      route: 'code_verification',
      isMounted: true,
    },
    { ...PAGE, name: 'device', path: CALLBACK_PATH, methods: ['GET'], isCallback: true },
    { ...PAGE, name: 'device', path: `${DEVICE_PATH}/:uid`, route: 'device_resume', methods: ['GET'] },
  ],
  limits: {
    // Anyone can send requests as a public client, and each code is stored for 20 minutes.
    'device_authorization.address': ['authorization', 1],
    'device_authorization.network': ['authorization', 10],
    // Wrong user codes, out of 20^8 (RFC 8628 §5.1). One user can't use up the limit of an address.
    'device.browser': { ...PER_WINDOW, limit: 10 },
    'device.user': { ...PER_WINDOW, limit: 20 },
    'device.address': { ...PER_WINDOW, limit: 100 },
    'device.network': { ...PER_WINDOW, limit: 1000 },
  },
  models: {
    DeviceCode: {
      traits: ['scoped', 'grantable', 'sessionBound', 'usedOnce', 'awaited'],
      needs: 'clientId params deviceInfo',
    },
  },
  pages: { device },
  isOn: ({ features }: Settings) => features.deviceFlow,
} as const satisfies Declaration;

// The pages of the device flow in each of their states.
import type { PageModels } from './models.ts';

type DeviceState = { readonly title: string; readonly name: 'device'; readonly model: PageModels['device'] };

const FORM = { action: 'https://id.example/device', xsrf: 'xsrf-token' } as const;
const CLIENT = { id: 'tv', name: 'Living room television' };
const CONFIRM = {
  ...FORM,
  outcome: 'confirm',
  client: CLIENT,
  userCode: 'WDJB-MJHT',
  browser: 'Firefox, Linux',
  network: '203.0.113.0/24',
  scopes: [{ name: 'openid', description: 'Know who you are' }],
  resources: [],
} as const;

export const DEVICE_STATES: readonly DeviceState[] = [
  { title: 'device', name: 'device', model: { ...FORM, outcome: 'input', userCode: '' } },
  {
    title: 'device wrong',
    name: 'device',
    model: { ...FORM, outcome: 'input', userCode: 'wdjb mjht', error: 'wrong' },
  },
  { title: 'device confirm', name: 'device', model: CONFIRM },
  {
    title: 'device confirm, unknown program and an API',
    name: 'device',
    model: {
      ...CONFIRM,
      browser: '',
      scopes: [],
      resources: [
        {
          resource: 'https://api.example.com/reports',
          name: 'Reports',
          scopes: [{ name: 'reports.read', description: 'Read your reports' }],
        },
      ],
    },
  },
  { title: 'device done', name: 'device', model: { outcome: 'done', client: CLIENT } },
  { title: 'device cancelled', name: 'device', model: { outcome: 'cancelled' } },
];

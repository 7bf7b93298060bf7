// Every page in every state that its model allows, with sample data: operators' templates are tried out with it before a
// request meets them.
import { ACCOUNT_STATES } from './account-samples.ts';
import { DEVICE_STATES } from './device-samples.ts';
import { ENGINE_PAGE_STATES } from './engine-page-samples.ts';
import { FACTOR_STATES } from './factor-samples.ts';
import { LINK_STATES } from './link-samples.ts';
import type { PageModels, PageName } from './models.ts';
import { full, longWord, plain } from './sample-clients.ts';

/** A page with one model of it. */
export type PageState = { [N in PageName]: { title: string; name: N; model: PageModels[N] } }[PageName];

export const LOGIN: PageModels['login'] = {
  client: plain,
  action: 'https://id.example/interaction/abc/login',
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  cancelCsrf: 'csrf-token',
  username: '',
};

export const SELECT_ACCOUNT: PageModels['select-account'] = {
  client: plain,
  action: 'https://id.example/interaction/abc/continue',
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  username: 'alice',
  otherAccountUrl: 'https://id.example/interaction/abc?account=other',
};

export const ERROR: PageModels['error'] = {
  status: 500,
  error: 'server_error',
  requestId: '01JCZW7P4Q8RM0V3X5T9',
};

const LOCAL = {
  issuer: 'http://localhost:3000',
  discoveryUrl: 'http://localhost:3000/.well-known/openid-configuration',
};

export const CONSENT_SAMPLE: PageModels['consent'] = {
  client: plain,
  action: 'https://id.example/interaction/abc/consent',
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  username: 'alice',
  otherAccountUrl: 'https://id.example/interaction/abc?account=other',
  scopes: [
    { name: 'openid', description: 'Know who you are' },
    { name: 'profile', description: 'See your name and picture' },
    { name: 'email', description: 'See your email address' },
  ],
  resources: [],
};

const reports = {
  resource: 'https://api.example.com/reports',
  name: 'Reports',
  scopes: [
    { name: 'reports.read', description: 'Read your reports' },
    { name: 'reports.write', description: 'Change your reports' },
  ],
};

type Leads = NonNullable<PageModels['consent']['document']>['leads'];
const ofDocument = (destination: string, leads: Leads, name = 'Assistant'): PageModels['consent'] => ({
  ...CONSENT_SAMPLE,
  client: { id: 'https://app.example/client.json', name: 'app.example' },
  document: { name, destination, leads },
});

const NO_ACCESS: PageModels['no-access'] = {
  client: plain,
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  username: 'bob',
  otherAccountUrl: 'https://id.example/interaction/abc?account=other',
};

export const PAGE_STATES: readonly PageState[] = [
  { title: 'login', name: 'login', model: LOGIN },
  { title: 'login with everything', name: 'login', model: { ...LOGIN, client: full, username: 'alice' } },
  ...(['invalid_credentials', 'too_many_attempts', 'busy', 'passkey_refused'] as const).map((code) => ({
    title: `login ${code}`,
    name: 'login' as const,
    model: { ...LOGIN, client: full, username: 'alice@example.com', error: code },
  })),
  {
    title: 'login with passkey',
    name: 'login',
    model: {
      ...LOGIN,
      passkey: { action: 'https://id.example/interaction/abc/passkey', csrf: 'csrf-token', options: '{}' },
    },
  },
  {
    title: 'login with long words',
    name: 'login',
    model: { ...LOGIN, client: { ...full, name: longWord }, username: longWord },
  },
  {
    title: 'login with another account',
    name: 'login',
    model: { ...LOGIN, client: full, backUrl: 'https://id.example/interaction/abc' },
  },
  { title: 'select-account', name: 'select-account', model: SELECT_ACCOUNT },
  {
    title: 'select-account with everything',
    name: 'select-account',
    model: { ...SELECT_ACCOUNT, client: full, displayName: 'Alice Example' },
  },
  {
    title: 'select-account with long words',
    name: 'select-account',
    model: {
      ...SELECT_ACCOUNT,
      client: { ...full, name: longWord },
      username: longWord,
      displayName: longWord,
    },
  },
  { title: 'consent', name: 'consent', model: CONSENT_SAMPLE },
  {
    title: 'consent with resources',
    name: 'consent',
    model: { ...CONSENT_SAMPLE, client: full, resources: [reports] },
  },
  {
    title: 'consent for an API without scopes',
    name: 'consent',
    model: { ...CONSENT_SAMPLE, client: full, scopes: [], resources: [{ ...reports, scopes: [] }] },
  },
  {
    title: 'consent for resources alone with long words',
    name: 'consent',
    model: {
      ...CONSENT_SAMPLE,
      client: { ...full, name: longWord },
      username: longWord,
      scopes: [],
      resources: [
        reports,
        {
          resource: `https://${longWord}.example/${longWord}`,
          name: `https://${longWord}.example/${longWord}`,
          scopes: [{ name: longWord, description: longWord }],
        },
      ],
    },
  },
  { title: 'consent of a document', name: 'consent', model: ofDocument('app.example', 'back') },
  { title: 'consent of a document, device', name: 'consent', model: ofDocument('localhost:51004', 'device') },
  {
    title: 'consent of a document, long',
    name: 'consent',
    model: ofDocument(longWord, 'elsewhere', longWord),
  },
  { title: 'no-access', name: 'no-access', model: NO_ACCESS },
  {
    title: 'no-access with long words',
    name: 'no-access',
    model: { ...NO_ACCESS, client: { ...full, name: longWord }, username: longWord },
  },
  ...ENGINE_PAGE_STATES,
  ...LINK_STATES,
  ...FACTOR_STATES,
  ...ACCOUNT_STATES,
  ...DEVICE_STATES,
  { title: 'error', name: 'error', model: ERROR },
  ...[
    'not_found',
    'expired',
    'no_cookies',
    'forbidden',
    'temporarily_unavailable',
    'access_denied',
    'invalid_request',
  ].map((code) => ({
    title: `error ${code}`,
    name: 'error' as const,
    model: {
      ...ERROR,
      error: code,
      description: 'redirect_uri did not match any of the client’s registered redirect_uris',
      client: full,
    },
  })),
  { title: 'error from an app without a link', name: 'error', model: { ...ERROR, client: plain } },
  {
    title: 'error with long words',
    name: 'error',
    model: { ...ERROR, description: longWord, requestId: longWord, client: { ...full, name: longWord } },
  },
  { title: 'home', name: 'home', model: {} },
  {
    title: 'home on this machine',
    name: 'home',
    model: { start: { ...LOCAL, tryUrl: 'http://localhost:3001/try' } },
  },
  { title: 'home on this machine, no demo', name: 'home', model: { start: LOCAL } },
  {
    title: 'try',
    name: 'try',
    model: {
      startUrl: '/try/start',
      outcome: 'ready',
      person: { username: 'demo', password: 'postern-demo' },
    },
  },
  { title: 'try without the demo person', name: 'try', model: { startUrl: '/try/start', outcome: 'ready' } },
  { title: 'try stale', name: 'try', model: { startUrl: '/try/start', outcome: 'stale' } },
  {
    title: 'try refused',
    name: 'try',
    model: { startUrl: '/try/start', outcome: 'refused', error: 'access_denied' },
  },
  {
    title: 'try signed in',
    name: 'try',
    model: {
      startUrl: '/try/start',
      outcome: 'signed_in',
      sections: [{ title: 'ID token, verified', text: `{\n  "sub": "${longWord}"\n}` }],
      settings: [
        { name: 'issuer', text: 'http://localhost:3000' },
        { name: 'client_secret', text: longWord },
      ],
    },
  },
];

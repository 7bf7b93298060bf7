// Every page in every state that its model allows, with sample data: operators' templates are tried out with it before a
// request meets them.
import { ACCOUNT_STATES } from './account-samples.ts';
import { ENROLMENT_SAMPLE, FACTOR_STATES } from './factor-samples.ts';
import type { PageModels } from './models.ts';
import { each, full, INTERACTION, longWord, type PageState, plain, statesOf } from './page-states.ts';

const csrf = 'csrf-token';
const longClient = { ...full, name: longWord };
const cancelAction = `${INTERACTION}/cancel`;
const otherAccountUrl = `${INTERACTION}?account=other`;

export const LOGIN: PageModels['login'] = {
  client: plain,
  action: `${INTERACTION}/login`,
  cancelAction,
  csrf,
  cancelCsrf: csrf,
  username: '',
};

const SELECT_ACCOUNT: PageModels['select-account'] = {
  client: plain,
  action: `${INTERACTION}/continue`,
  cancelAction,
  csrf,
  username: 'alice',
  otherAccountUrl,
};

const CONSENT_SAMPLE: PageModels['consent'] = {
  client: plain,
  action: `${INTERACTION}/consent`,
  cancelAction,
  csrf,
  username: 'alice',
  otherAccountUrl,
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

const longApi = {
  resource: `https://${longWord}.example/${longWord}`,
  name: `https://${longWord}.example/${longWord}`,
  scopes: [{ name: longWord, description: longWord }],
};

type Leads = NonNullable<PageModels['consent']['document']>['leads'];
const ofDocument = (destination: string, leads: Leads, name = 'Assistant'): PageModels['consent'] => ({
  ...CONSENT_SAMPLE,
  client: { id: 'https://app.example/client.json', name: 'app.example' },
  document: { name, destination, leads },
});

const NO_ACCESS: PageModels['no-access'] = {
  client: plain,
  cancelAction,
  csrf,
  username: 'bob',
  otherAccountUrl,
};

const FORM_POST: PageModels['form-post'] = {
  client: plain,
  action: 'https://app.example/callback',
  fields: [
    { name: 'code', value: 'abc' },
    { name: 'state', value: 'xyz' },
    { name: 'iss', value: 'https://id.example' },
  ],
};

export const LOGOUT: PageModels['logout'] = { action: 'https://id.example/oauth/logout/confirm', xsrf: 'xs' };

const PASSWORD_LINK = {
  outcome: 'password',
  purpose: 'invite',
  action: 'https://id.example/interaction/link/abc',
  csrf,
  username: 'alice',
  minLength: 15,
} as const;

const DEVICE = { action: 'https://id.example/device', xsrf: 'xsrf-token' };
const TELEVISION = { id: 'tv', name: 'Living room television' };
const CONFIRM_DEVICE: Extract<PageModels['device'], { outcome: 'confirm' }> = {
  ...DEVICE,
  outcome: 'confirm',
  client: TELEVISION,
  userCode: 'WDJB-MJHT',
  browser: 'Firefox, Linux',
  network: '203.0.113.0/24',
  scopes: [{ name: 'openid', description: 'Know who you are' }],
  resources: [],
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

const startUrl = '/try/start';

export const PAGE_STATES: readonly PageState[] = [
  ...statesOf('login', {
    '': LOGIN,
    'with everything': { ...LOGIN, client: full, username: 'alice' },
    ...each(
      ['invalid_credentials', 'factors_off', 'too_many_attempts', 'busy', 'passkey_refused'],
      (error) => ({
        ...LOGIN,
        client: full,
        username: 'alice@example.com',
        error,
      }),
    ),
    'with passkey': { ...LOGIN, passkey: { action: `${INTERACTION}/passkey`, csrf, options: '{}' } },
    'with long words': { ...LOGIN, client: longClient, username: longWord },
    'with another account': { ...LOGIN, client: full, backUrl: INTERACTION },
  }),
  ...statesOf('select-account', {
    '': SELECT_ACCOUNT,
    'with everything': { ...SELECT_ACCOUNT, client: full, displayName: 'Alice Example' },
    'with long words': { ...SELECT_ACCOUNT, client: longClient, username: longWord, displayName: longWord },
  }),
  ...statesOf('consent', {
    '': CONSENT_SAMPLE,
    'with resources': { ...CONSENT_SAMPLE, client: full, resources: [reports] },
    'for an API without scopes': {
      ...CONSENT_SAMPLE,
      client: full,
      scopes: [],
      resources: [{ ...reports, scopes: [] }],
    },
    'for resources alone with long words': {
      ...CONSENT_SAMPLE,
      client: longClient,
      username: longWord,
      scopes: [],
      resources: [reports, longApi],
    },
    'of a document': ofDocument('app.example', 'back'),
    'of a document, device': ofDocument('localhost:51004', 'device'),
    'of a document, long': ofDocument(longWord, 'elsewhere', longWord),
  }),
  ...statesOf('no-access', {
    '': NO_ACCESS,
    'with long words': { ...NO_ACCESS, client: longClient, username: longWord },
  }),
  ...statesOf('form-post', {
    '': FORM_POST,
    'with long words': { ...FORM_POST, client: longClient },
  }),
  ...statesOf('logout', { '': LOGOUT, 'from an app': { ...LOGOUT, client: full } }),
  ...statesOf('logged-out', {
    '': { outcome: 'signed_out' },
    'from an app without a link': { outcome: 'signed_out', client: plain },
    'from an app': { outcome: 'signed_out', client: full },
    'stayed, no app': { outcome: 'stayed' },
    stayed: { outcome: 'stayed', client: full },
    nobody: { outcome: 'nobody' },
  }),
  ...statesOf('link', {
    '': { outcome: 'ask', action: PASSWORD_LINK.action, csrf },
    invite: PASSWORD_LINK,
    reset: { ...PASSWORD_LINK, purpose: 'reset' },
    ...each(['too_short', 'too_long', 'guessable', 'different', 'passkey_refused'], (error) => ({
      ...PASSWORD_LINK,
      error,
    })),
    'with long words': { ...PASSWORD_LINK, username: 'a'.repeat(64) },
    'invite with passkey': { ...PASSWORD_LINK, passkey: { options: '{}', handle: 'handle' } },
    factors: { outcome: 'factors', username: 'alice', enrolment: ENROLMENT_SAMPLE },
    'done trust': { outcome: 'done', purpose: 'trust' },
    'done invite': { outcome: 'done', purpose: 'invite' },
    'done reset': { outcome: 'done', purpose: 'reset' },
    'done factors': { outcome: 'done', purpose: 'factors' },
    'done factors, recovery codes': {
      outcome: 'done',
      purpose: 'factors',
      factorsUrl: 'https://id.example/factors',
    },
    expired: { outcome: 'expired' },
    'maybe used': { outcome: 'maybe_used' },
  }),
  ...FACTOR_STATES,
  ...ACCOUNT_STATES,
  ...statesOf('device', {
    '': { ...DEVICE, outcome: 'input', userCode: '' },
    wrong: { ...DEVICE, outcome: 'input', userCode: 'wdjb mjht', error: 'wrong' },
    confirm: CONFIRM_DEVICE,
    'confirm, signed in': { ...CONFIRM_DEVICE, username: 'alice' },
    'confirm, unknown program and an API': {
      ...CONFIRM_DEVICE,
      browser: '',
      scopes: [],
      resources: [{ ...reports, scopes: reports.scopes.slice(0, 1) }],
    },
    done: { outcome: 'done', client: TELEVISION },
    cancelled: { outcome: 'cancelled' },
  }),
  ...statesOf('error', {
    '': ERROR,
    ...each(
      [
        'not_found',
        'expired',
        'no_cookies',
        'forbidden',
        'temporarily_unavailable',
        'access_denied',
        'invalid_request',
      ],
      (error) => ({
        ...ERROR,
        error,
        description: 'redirect_uri did not match any of the client’s registered redirect_uris',
        client: full,
      }),
    ),
    'from an app without a link': { ...ERROR, client: plain },
    'with long words': { ...ERROR, description: longWord, requestId: longWord, client: longClient },
  }),
  ...statesOf('home', {
    '': {},
    'on this machine': { start: { ...LOCAL, tryUrl: 'http://localhost:3001/try' } },
    'on this machine, no demo': { start: LOCAL },
  }),
  ...statesOf('try', {
    '': { startUrl, outcome: 'ready', person: { username: 'demo', password: 'postern-demo' } },
    'without the demo person': { startUrl, outcome: 'ready' },
    stale: { startUrl, outcome: 'stale' },
    refused: { startUrl, outcome: 'refused', error: 'access_denied' },
    'signed in': {
      startUrl,
      outcome: 'signed_in',
      sections: [{ title: 'ID token, verified', text: `{\n  "sub": "${longWord}"\n}` }],
      settings: [
        { name: 'issuer', text: 'http://localhost:3000' },
        { name: 'client_secret', text: longWord },
      ],
    },
  }),
];

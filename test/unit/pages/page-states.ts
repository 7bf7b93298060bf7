// Every page in every state that its model allows, for the tests of pages. Owns sample data only.
import type {
  ClientModel,
  ConsentModel,
  ErrorModel,
  LoginModel,
  LogoutModel,
  PageModels,
  PageName,
} from '../../../src/pages/models.ts';

/** A page with one model of it. */
export type PageState = { [N in PageName]: { title: string; name: N; model: PageModels[N] } }[PageName];

// Square, small, and inside the CSP's `img-src data:`.
const LOGO =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 56 56%22%3E%3Crect width=%2256%22 height=%2256%22 fill=%22%230b6e4f%22/%3E%3Ccircle cx=%2228%22 cy=%2228%22 r=%2214%22 fill=%22white%22/%3E%3C/svg%3E';

const plain: ClientModel = { id: 'web', name: 'Example web app' };
const full: ClientModel = {
  ...plain,
  logoUri: LOGO,
  clientUri: 'https://app.example/',
  policyUri: 'https://app.example/privacy',
  tosUri: 'https://app.example/terms',
};
const longWord = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';

export const LOGIN: LoginModel = {
  client: plain,
  action: 'https://id.example/interaction/abc/login',
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  username: '',
};

export const LOGOUT: LogoutModel = { action: 'https://id.example/oauth/logout/confirm', xsrf: 'xs' };

export const ERROR: ErrorModel = { status: 500, error: 'server_error', requestId: '01JCZW7P4Q8RM0V3X5T9' };

export const CONSENT: ConsentModel = {
  client: plain,
  action: 'https://id.example/interaction/abc/consent',
  cancelAction: 'https://id.example/interaction/abc/cancel',
  csrf: 'csrf-token',
  username: 'alice',
  scopes: [
    { name: 'openid', description: 'Know who you are' },
    { name: 'profile', description: 'See your name and picture' },
    { name: 'email', description: 'See your email address' },
  ],
  resources: [],
};

const reports = {
  resource: 'https://api.example.com/reports',
  scopes: [
    { name: 'reports.read', description: 'Read your reports' },
    { name: 'reports.write', description: 'Change your reports' },
  ],
};

export const PAGE_STATES: readonly PageState[] = [
  { title: 'login', name: 'login', model: LOGIN },
  { title: 'login with everything', name: 'login', model: { ...LOGIN, client: full, username: 'alice' } },
  ...(['invalid_credentials', 'too_many_attempts', 'busy'] as const).map((code) => ({
    title: `login ${code}`,
    name: 'login' as const,
    model: { ...LOGIN, client: full, username: 'alice@example.com', error: code },
  })),
  {
    title: 'login with long words',
    name: 'login',
    model: { ...LOGIN, client: { ...full, name: longWord }, username: longWord },
  },
  { title: 'consent', name: 'consent', model: CONSENT },
  {
    title: 'consent with resources',
    name: 'consent',
    model: { ...CONSENT, client: full, resources: [reports] },
  },
  {
    title: 'consent for resources alone with long words',
    name: 'consent',
    model: {
      ...CONSENT,
      client: { ...full, name: longWord },
      username: longWord,
      scopes: [],
      resources: [
        reports,
        {
          resource: `https://${longWord}.example/${longWord}`,
          scopes: [{ name: longWord, description: longWord }],
        },
      ],
    },
  },
  {
    title: 'logout',
    name: 'logout',
    model: LOGOUT,
  },
  {
    title: 'logout from an app',
    name: 'logout',
    model: { ...LOGOUT, client: full },
  },
  { title: 'logged-out', name: 'logged-out', model: {} },
  { title: 'logged-out from an app without a link', name: 'logged-out', model: { client: plain } },
  { title: 'logged-out from an app', name: 'logged-out', model: { client: full } },
  { title: 'error', name: 'error', model: ERROR },
  ...['not_found', 'expired', 'forbidden', 'unavailable', 'access_denied', 'invalid_request'].map((code) => ({
    title: `error ${code}`,
    name: 'error' as const,
    model: {
      ...ERROR,
      error: code,
      description: 'This link is no longer valid. Start again from the app.',
      link: { href: 'https://app.example/', label: 'Back to Example web app' },
    },
  })),
  {
    title: 'error with long words',
    name: 'error',
    model: {
      ...ERROR,
      description: longWord,
      requestId: longWord,
      link: { href: 'https://app.example/', label: longWord },
    },
  },
  { title: 'try', name: 'try', model: { startUrl: '/try/start', outcome: 'ready' } },
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
    },
  },
];

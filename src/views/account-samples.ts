// The page where people help themselves in each of its states; samples.ts has the other pages.
import { EventModel, type PageModels } from './models.ts';
import { each, type PageState, statesOf } from './page-states.ts';

const URL = 'https://id.example/account';
const SIGN_IN_URL = 'https://id.example/oauth/authorize';
const AT = '23 November 2026 at 02:55 UTC';
const PLACE = { browser: 'Firefox, Linux', network: '203.0.113.0/24' };
const PAGE: Extract<PageModels['account'], { outcome: 'page' }> = {
  outcome: 'page',
  username: 'alice',
  name: 'Alice Example',
  email: 'alice@example.com',
  groups: ['staff', 'wiki-editors'],
  csrf: 'csrf-token',
  password: 'here',
  minLength: 15,
  passwordAction: `${URL}/password`,
  factorsUrl: `${URL}/factors`,
  sessions: [
    { id: 'a', ...PLACE, day: '23 November 2026', current: true },
    {
      id: 'b',
      browser: 'Safari, iPhone',
      network: '2001:db8:0::/48',
      day: '20 November 2026',
      current: false,
    },
    { id: 'c', browser: '', network: '', day: '1 November 2026', current: false },
  ],
  endSessionAction: `${URL}/end-session`,
  endOthersAction: `${URL}/end-others`,
  signOutUrl: 'https://id.example/oauth/logout',
  apps: [
    { name: 'Wiki', uri: 'https://wiki.example/' },
    { name: 'Mail', uri: 'https://mail.example/' },
  ],
  allowed: [
    {
      id: 'web',
      name: 'Example web app',
      scopes: [
        { name: 'openid', description: 'Know who you are' },
        { name: 'email', description: 'See your email address' },
      ],
      resources: [
        {
          resource: 'https://api.example/',
          name: 'Orders',
          scopes: [{ name: 'orders:read', description: 'Read your orders' }],
        },
      ],
    },
  ],
  withdrawAction: `${URL}/withdraw`,
  events: EventModel.shape.what.options.map((what) => ({
    what,
    at: AT,
    ...PLACE,
    app: what === 'app_withdrawn' ? 'Example web app' : undefined,
  })),
};

export const ACCOUNT_STATES: readonly PageState[] = statesOf('account', {
  '': PAGE,
  'not fresh': { ...PAGE, signInUrl: SIGN_IN_URL },
  'password operator': { ...PAGE, password: 'operator' },
  'password none': { ...PAGE, password: 'none' },
  nothing: {
    ...PAGE,
    name: undefined,
    email: undefined,
    groups: [],
    factorsUrl: undefined,
    sessions: PAGE.sessions.slice(0, 1),
    apps: [],
    allowed: [],
    events: [],
  },
  ...each(['password_changed', 'session_ended', 'sessions_ended', 'app_withdrawn'], (done) => ({
    ...PAGE,
    done,
  })),
  ...each(
    ['wrong_password', 'too_many_attempts', 'busy', 'different', 'too_short', 'too_long', 'guessable'],
    (error) => ({ ...PAGE, error }),
  ),
  stale: { outcome: 'stale', signInUrl: SIGN_IN_URL },
});

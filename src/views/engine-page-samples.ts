// The pages that the engine asks for at the end of a sign-in or of a session, in each of their states.
import type { PageModels } from './models.ts';
import { full, longWord, plain } from './sample-clients.ts';

type Named<N extends keyof PageModels> = {
  readonly title: string;
  readonly name: N;
  readonly model: PageModels[N];
};
type State = Named<'form-post'> | Named<'logout'> | Named<'logged-out'>;

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

export const ENGINE_PAGE_STATES: readonly State[] = [
  { title: 'form-post', name: 'form-post', model: FORM_POST },
  {
    title: 'form-post with long words',
    name: 'form-post',
    model: { ...FORM_POST, client: { ...full, name: longWord } },
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
  { title: 'logged-out', name: 'logged-out', model: { outcome: 'signed_out' } },
  {
    title: 'logged-out from an app without a link',
    name: 'logged-out',
    model: { outcome: 'signed_out', client: plain },
  },
  { title: 'logged-out from an app', name: 'logged-out', model: { outcome: 'signed_out', client: full } },
  { title: 'logged-out stayed, no app', name: 'logged-out', model: { outcome: 'stayed' } },
  { title: 'logged-out stayed', name: 'logged-out', model: { outcome: 'stayed', client: full } },
  { title: 'logged-out nobody', name: 'logged-out', model: { outcome: 'nobody' } },
];

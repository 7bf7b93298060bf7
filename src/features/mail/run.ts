// Email, while it is on: the pages for forgotten passwords and sign-up, notices, and the sender.
import type { App } from '../../oidc/app.ts';
import type { PageParts } from '../page-parts.ts';
import { addressSection, createAddressLinks } from './address.ts';
import { askPage } from './ask-page.ts';
import { FORGOT_PATH, SIGN_UP_PATH } from './feature.ts';
import { createMailJobs } from './jobs.ts';
import { linkPage } from './link-page.ts';
import { NOTICES } from './models.ts';
import { createSender } from './sender.ts';
import { followSignUp } from './sign-up.ts';
import { createMailStates } from './state.ts';

export function open(app: App): PageParts {
  const { config, issuer, store } = app;
  const guard = { isPlain: () => true };
  const { mail } = config;
  // It isn't undefined while the feature is on.
  if (mail === undefined) return { guard };
  const jobs = createMailJobs(store);
  const parts = { app, jobs, states: createMailStates(store.documents) };
  const addresses = createAddressLinks(parts);
  const forgotUrl = `${issuer}${FORGOT_PATH}`;
  const signUpUrl = mail.signUp && `${issuer}${SIGN_UP_PATH}`;
  return {
    guard,
    ways: () => () => ({ forgotUrl, signUpUrl }),
    newLinkUrl: forgotUrl,
    sections: () => [addressSection(parts)],
    routes: (host) => [
      askPage(host, jobs, 'forgot'),
      ...(mail.signUp ? [askPage(host, jobs, 'sign-up')] : []),
      linkPage(host, {
        address: addresses.follow,
        undo: addresses.follow,
        new_user: followSignUp(host, mail),
      }),
    ],
    async onUserEvent({ id, accountId, what: event, note }) {
      if (event === 'deleted') await parts.states.remove(accountId);
      const what = NOTICES.find((one) => one === note?.what);
      if (what !== undefined) await jobs.add([{ id, what, accountId, note }]);
    },
    job: () => createSender({ ...parts, settings: mail, addresses }),
  };
}

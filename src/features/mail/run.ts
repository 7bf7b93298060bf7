// Email, while it is on: the page for forgotten passwords, notices, and the sender.
import type { App } from '../../oidc/app.ts';
import type { PageParts } from '../page-parts.ts';
import { FORGOT_PATH } from './feature.ts';
import { forgotPage } from './forgot.ts';
import { createMailJobs } from './jobs.ts';
import { NOTICES } from './models.ts';
import { createSender } from './sender.ts';

export function open(app: App): PageParts {
  const { config, issuer, store } = app;
  const guard = { isPlain: () => true };
  const { mail } = config;
  // isOn says so.
  if (mail === undefined) return { guard };
  const jobs = createMailJobs(store);
  return {
    guard,
    ways: () => () => ({ forgotUrl: `${issuer}${FORGOT_PATH}` }),
    routes: (host) => [forgotPage(host, jobs)],
    async hearOfUser({ id, accountId, note }) {
      const what = NOTICES.find((one) => one === note?.what);
      if (what !== undefined) await jobs.add([{ id, what, accountId, note }]);
    },
    job: () => createSender(app, mail, jobs),
  };
}

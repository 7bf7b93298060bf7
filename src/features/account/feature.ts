// The account page, where users manage their own account, with the sections of other features.
import * as z from 'zod';
import { ACCOUNT_PATH, PAGE } from '../../config/endpoint-rows.ts';
import type { Declaration } from '../feature.ts';
import { accountSections } from './models.ts';

const ROW = { ...PAGE, name: 'account', path: ACCOUNT_PATH, methods: ['GET'] } as const;
/** W3C, A Well-Known URL for Changing Passwords: password managers open it. */
export const CHANGE_PASSWORD_PATH = '/.well-known/change-password';

const CHANGES = ['password', 'end-session', 'end-others', 'withdraw'] as const;

export const account = {
  name: 'account',
  service: {
    account: z
      .boolean()
      .default(false)
      .describe(
        'Account page at /account, where users manage their sessions, apps, password and second factors.',
      ),
  },
  endpoints: [
    ROW,
    { ...ROW, path: `${ACCOUNT_PATH}/callback`, isCallback: true },
    { ...ROW, path: CHANGE_PASSWORD_PATH },
    ...CHANGES.map((change) => ({ ...ROW, path: `${ACCOUNT_PATH}/${change}`, methods: ['POST'] }) as const),
  ],
  sections: accountSections,
  isOn: (config: { readonly account: boolean }) => config.account,
} as const satisfies Declaration;

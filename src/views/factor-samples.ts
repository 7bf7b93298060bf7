// The pages of second factors in each of their states; samples.ts has the other pages.
import { secondStep } from './factor-models.ts';
import type { EnrolmentModel, PageModels } from './models.ts';
import { each, INTERACTION, type PageState, plain, statesOf } from './page-states.ts';

const AT = '23 November 2026 at 02:55 UTC';
const FACTORS = 'https://id.example/factors';
const csrf = 'csrf-token';
const ofPerson = { client: plain, username: 'alice', otherAccountUrl: `${INTERACTION}?account=other` };
const cancelAction = `${INTERACTION}/cancel`;
const cancel = { cancelAction, cancelCsrf: csrf };
const passkey = { action: `${INTERACTION}/passkey`, csrf, options: '{}' };

const QR =
  'data:image/svg+xml,%3Csvg xmlns=%22http://www.w3.org/2000/svg%22 viewBox=%220 0 37 37%22%3E%3Cpath fill=%22white%22 d=%22M0,0h37v37h-37z%22/%3E%3Cpath d=%22M4,4h7v7h-7zM26,4h7v7h-7zM4,26h7v7h-7z%22/%3E%3C/svg%3E';

export const ENROLMENT_SAMPLE: EnrolmentModel = {
  csrf,
  oneTimeCode: {
    action: `${INTERACTION}/enrol`,
    secret: 'JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP',
    qr: QR,
    sealed: 'sealed',
  },
  passkey: { action: `${INTERACTION}/enrol`, options: '{}', handle: 'handle' },
};

const SECOND_STEP: PageModels['second-step'] = {
  ...ofPerson,
  ...cancel,
  action: `${INTERACTION}/code`,
  csrf,
  oneTimeCode: true,
  recoveryCode: true,
};

const ENROL: PageModels['enrol'] = {
  ...ofPerson,
  ...cancel,
  needed: 'second_factor',
  enrolment: ENROLMENT_SAMPLE,
};

const NOTICES: PageModels['notice']['notices'] = [
  { what: 'recovery_code_used', at: AT, left: 9 },
  { what: 'codes_failed', at: AT },
  { what: 'passkey_refused', at: AT },
  { what: 'recovery_codes_made', at: AT },
  { what: 'factor_added', at: AT, method: 'passkey' },
  { what: 'factor_removed', at: AT, method: 'passkey' },
  { what: 'factor_added', at: AT, method: 'one_time_code' },
  { what: 'authenticator_replaced', at: AT, method: 'one_time_code' },
  { what: 'factor_removed', at: AT, method: 'one_time_code' },
];

const LIST: Extract<PageModels['factors'], { outcome: 'list' }> = {
  outcome: 'list',
  username: 'alice',
  csrf,
  factors: [
    {
      id: 'one-time-code',
      method: 'one_time_code',
      createdAt: AT,
      suspect: false,
      removeAction: `${FACTORS}/remove`,
    },
    {
      id: 'abc',
      method: 'passkey',
      name: 'Phone',
      createdAt: AT,
      usedAt: '24 November 2026 at 12:30 UTC',
      suspect: true,
      removeAction: `${FACTORS}/remove`,
    },
  ],
  recoveryCodes: { left: 10, action: `${FACTORS}/recovery-codes` },
  enrolment: ENROLMENT_SAMPLE,
  notices: NOTICES,
};

const CODES = Array.from({ length: 10 }, () => '7K2M-9XQT-0ABC-DEFG-HJKM-NPQR');

export const FACTOR_STATES: readonly PageState[] = [
  ...statesOf('second-step', {
    '': SECOND_STEP,
    'with passkey': { ...SECOND_STEP, passkey },
    'passkey alone': { ...SECOND_STEP, passkey, oneTimeCode: false, recoveryCode: false },
    'recovery code alone': { ...SECOND_STEP, oneTimeCode: false },
    ...each(secondStep.shape.error.unwrap().options, (error) => ({ ...SECOND_STEP, passkey, error })),
  }),
  ...statesOf(
    'factor-needed',
    each(['second_factor', 'passkey'], (needed) => ({ ...ofPerson, cancelAction, csrf, needed })),
  ),
  ...statesOf('enrol', {
    second_factor: ENROL,
    passkey: { ...ENROL, needed: 'passkey', enrolment: { ...ENROLMENT_SAMPLE, oneTimeCode: undefined } },
    ...each(['wrong_code', 'passkey_refused', 'expired', 'not_confirmed'], (error) => ({
      ...ENROL,
      enrolment: { ...ENROLMENT_SAMPLE, error },
    })),
  }),
  ...statesOf('notice', {
    '': {
      client: plain,
      action: `${INTERACTION}/notice`,
      csrf,
      username: 'alice',
      notices: NOTICES,
      until: 1,
      factorsUrl: FACTORS,
    },
  }),
  ...statesOf('factors', {
    '': LIST,
    none: { ...LIST, factors: [], notices: [], recoveryCodes: undefined },
    ...each(['still_needed', 'not_yours'], (error) => ({ ...LIST, error })),
    codes: { outcome: 'codes', username: 'alice', codes: CODES, backUrl: FACTORS },
    ...each(['stale', 'passkey_needed'], (outcome) => ({ outcome, signInUrl: FACTORS })),
  }),
];

// The pages of second factors in each of their states; samples.ts has the other pages.
import type { EnrolmentModel, PageModels } from './models.ts';

type FactorPage = 'second-step' | 'factor-needed' | 'notice' | 'enrol' | 'factors';
type FactorState = {
  [N in FactorPage]: { readonly title: string; readonly name: N; readonly model: PageModels[N] };
}[FactorPage];

const INTERACTION = 'https://id.example/interaction/abc';
const client = { id: 'web', name: 'Example web app' };
const csrf = 'csrf-token';
const ofPerson = { client, username: 'alice', otherAccountUrl: `${INTERACTION}?account=other` };
const cancel = { cancelAction: `${INTERACTION}/cancel`, cancelCsrf: csrf };
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

const NOTICES: PageModels['notice']['notices'] = [
  { what: 'recovery_code_used', at: '23 November 2026 at 02:55 UTC', left: 9 },
  { what: 'passkey_refused', at: '23 November 2026 at 02:55 UTC' },
  { what: 'recovery_codes_made', at: '23 November 2026 at 02:55 UTC' },
  ...(['passkey', 'one_time_code'] as const).flatMap((method) => [
    { what: 'factor_added' as const, at: '23 November 2026 at 02:55 UTC', method },
    { what: 'factor_removed' as const, at: '23 November 2026 at 02:55 UTC', method },
  ]),
];

const LIST: Extract<PageModels['factors'], { outcome: 'list' }> = {
  outcome: 'list',
  username: 'alice',
  csrf,
  factors: [
    {
      id: 'one-time-code',
      method: 'one_time_code',
      createdAt: '23 November 2026 at 02:55 UTC',
      suspect: false,
      removeAction: 'https://id.example/factors/remove',
    },
    {
      id: 'abc',
      method: 'passkey',
      name: 'Phone',
      createdAt: '23 November 2026 at 02:55 UTC',
      usedAt: '24 November 2026 at 12:30 UTC',
      suspect: true,
      removeAction: 'https://id.example/factors/remove',
    },
  ],
  recoveryCodes: { left: 10, action: 'https://id.example/factors/recovery-codes' },
  enrolment: ENROLMENT_SAMPLE,
  notices: NOTICES,
};

const CODES = Array.from({ length: 10 }, () => '7K2M-9XQT-0ABC-DEFG-HJKM-NPQR');

export const FACTOR_STATES: readonly FactorState[] = [
  { title: 'second-step', name: 'second-step', model: SECOND_STEP },
  { title: 'second-step with passkey', name: 'second-step', model: { ...SECOND_STEP, passkey } },
  {
    title: 'second-step passkey alone',
    name: 'second-step',
    model: { ...SECOND_STEP, passkey, oneTimeCode: false, recoveryCode: false },
  },
  {
    title: 'second-step recovery code alone',
    name: 'second-step',
    model: { ...SECOND_STEP, oneTimeCode: false },
  },
  ...(['wrong_code', 'wrong_recovery_code', 'passkey_refused', 'too_many_attempts'] as const).map(
    (error) => ({
      title: `second-step ${error}`,
      name: 'second-step' as const,
      model: { ...SECOND_STEP, passkey, error },
    }),
  ),
  ...(['second_factor', 'passkey'] as const).flatMap((needed): FactorState[] => [
    {
      title: `factor-needed ${needed}`,
      name: 'factor-needed',
      model: { ...ofPerson, cancelAction: cancel.cancelAction, csrf, needed },
    },
    {
      title: `enrol ${needed}`,
      name: 'enrol',
      model: {
        ...ofPerson,
        ...cancel,
        needed,
        enrolment: needed === 'passkey' ? { ...ENROLMENT_SAMPLE, oneTimeCode: undefined } : ENROLMENT_SAMPLE,
      },
    },
  ]),
  ...(['wrong_code', 'passkey_refused', 'expired'] as const).map((error) => ({
    title: `enrol ${error}`,
    name: 'enrol' as const,
    model: {
      ...ofPerson,
      ...cancel,
      needed: 'second_factor' as const,
      enrolment: { ...ENROLMENT_SAMPLE, error },
    },
  })),
  {
    title: 'notice',
    name: 'notice',
    model: {
      client,
      action: `${INTERACTION}/notice`,
      csrf,
      username: 'alice',
      notices: NOTICES,
      factorsUrl: 'https://id.example/factors',
    },
  },
  { title: 'factors', name: 'factors', model: LIST },
  {
    title: 'factors none',
    name: 'factors',
    model: { ...LIST, factors: [], notices: [], recoveryCodes: undefined },
  },
  ...(['still_needed', 'not_yours'] as const).map((error) => ({
    title: `factors ${error}`,
    name: 'factors' as const,
    model: { ...LIST, error },
  })),
  {
    title: 'factors codes',
    name: 'factors',
    model: { outcome: 'codes', username: 'alice', codes: CODES, backUrl: 'https://id.example/factors' },
  },
  {
    title: 'factors stale',
    name: 'factors',
    model: { outcome: 'stale', signInUrl: 'https://id.example/factors' },
  },
];

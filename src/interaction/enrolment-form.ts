// The forms that add a factor, on whichever page they stand, and what they send.
import type { Context } from 'koa';
import { type Audit, type AuditFields, originOf } from '../observability/audit.ts';
import type { Enrolled, EnrolmentAnswer, NewFactor } from '../users/enrolment.ts';
import type { EnrolmentModel } from '../views/models.ts';
import type { Form } from './form.ts';

export function toEnrolmentModel(
  { oneTimeCode, passkey }: NewFactor,
  target: { readonly action: string; readonly csrf: string },
  error?: EnrolmentModel['error'],
): EnrolmentModel {
  const { action, csrf } = target;
  return {
    csrf,
    oneTimeCode: oneTimeCode && { ...oneTimeCode, action },
    passkey: passkey && { ...passkey, action },
    error,
  };
}

/** What came of the form; a string says why nothing did. */
export function recordEnrolment(
  audit: Audit,
  { state }: Context,
  form: Form,
  { enrolled, ...who }: AuditFields & { readonly enrolled: Enrolled | string },
): void {
  const method = form.field('response') === '' ? 'one_time_code' : 'passkey';
  const of = { ...originOf(state), ...who, method };
  if (typeof enrolled === 'string') {
    audit.record('factor_changed', 'failure', { ...of, action: 'added', reason: enrolled });
  } else
    audit.record('factor_changed', 'success', {
      ...of,
      action: enrolled.what.replace('factor_', '').replace('authenticator_', ''),
    });
}

export function enrolmentAnswerOf(form: Form): EnrolmentAnswer {
  return {
    sealed: form.field('sealed'),
    code: form.field('code'),
    response: form.field('response'),
    handle: form.field('handle'),
    name: form.field('name'),
  };
}

// The forms that add a factor, on whichever page they stand, and what they send.
import type { Context } from 'koa';
import { type AuditFields, originOf } from '../observability/audit.ts';
import type { Enrolled, EnrolmentFault, EnrolmentFor, NewFactor } from '../users/enrolment.ts';
import type { EnrolmentModel } from '../views/models.ts';
import type { Form } from './form.ts';
import type { Host, SecondFactors } from './host.ts';

export function toEnrolmentModel(
  { oneTimeCode, passkey }: NewFactor,
  { action, csrf }: { readonly action: string; readonly csrf: string },
  error?: EnrolmentModel['error'],
): EnrolmentModel {
  return {
    csrf,
    oneTimeCode: oneTimeCode && { ...oneTimeCode, action },
    passkey: passkey && { ...passkey, action },
    error,
  };
}

/** What came of the form, or why nothing did. */
export function recordEnrolment(
  { audit }: Host,
  ctx: Context,
  form: Form,
  { enrolled, ...who }: AuditFields & { readonly enrolled: Enrolled | string },
): void {
  const method = form.field('response') === '' ? 'one_time_code' : 'passkey';
  const of = { ...originOf(ctx.state), ...who, method };
  if (typeof enrolled === 'string') {
    audit.record('factor_changed', 'failure', { ...of, action: 'added', reason: enrolled });
  } else {
    const action = enrolled.what.replace(/^factor_|^authenticator_/, '');
    audit.record('factor_changed', 'success', { ...of, action });
  }
}

/** Adds what the form sent; a string says why it didn't. `accept` is asked once the answer is right. */
export async function addFactor(
  host: Host,
  { enrolment }: SecondFactors,
  { ctx, form, clientId }: { readonly ctx: Context; readonly form: Form; readonly clientId?: string },
  of: EnrolmentFor,
  accept: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<Enrolled | EnrolmentFault | 'ended'> {
  const answer = {
    sealed: form.field('sealed'),
    code: form.field('code'),
    response: form.field('response'),
    handle: form.field('handle'),
    name: form.field('name'),
  };
  const checked = await enrolment.check(of, answer);
  if (typeof checked !== 'string' && !(await accept())) return 'ended';
  const enrolled = typeof checked === 'string' ? checked : await checked();
  recordEnrolment(host, ctx, form, { client_id: clientId, account_id: of.id, enrolled });
  if (typeof enrolled !== 'string') await host.tell(ctx, of.id, enrolled.what);
  return enrolled;
}

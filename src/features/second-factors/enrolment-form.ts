// The forms that add a factor, on whichever page they are, and what they send.
import type { Form } from '../../interaction/form.ts';
import type { Actor, ActsParts } from '../../users/acts.ts';
import type { Method } from '../../users/factors.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import type { Enrolled, Enrolment, EnrolmentFault, EnrolmentFor, NewFactor } from './enrolment.ts';
import { noteFactor } from './factor-acts.ts';

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

/** What the form is for, in the audit trail. */
export const methodIn = (form: Form): Method => (form.field('response') === '' ? 'one_time_code' : 'passkey');

type Sent = { readonly actor: Actor; readonly form: Form; readonly clientId?: string };

/** Adds what the form sent; a string says why it didn't. `accept` is asked once the answer is right. */
export async function addFromForm(
  parts: ActsParts,
  enrolment: Enrolment,
  { actor, form, clientId }: Sent,
  of: EnrolmentFor,
  accept: () => Promise<boolean> = async () => true,
): Promise<Enrolled | EnrolmentFault> {
  const enrolled = await enrolment.add(of, form, accept);
  const [what, reason] =
    typeof enrolled === 'string' ? (['factor_added', enrolled] as const) : [enrolled.what];
  const [account_id, client_id] = [of.id, clientId];
  await noteFactor(parts, actor, { account_id, client_id, what, method: methodIn(form), reason });
  return enrolled;
}

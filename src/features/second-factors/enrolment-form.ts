// The forms that add a factor, on whichever page they stand, and what they send.
import * as acts from '../../users/acts.ts';
import type {
  Enrolled,
  Enrolment,
  EnrolmentFault,
  EnrolmentFor,
  Method,
  NewFactor,
} from '../../users/factors.ts';
import type { EnrolmentModel } from '../../views/shared-models.ts';
import type { Form } from '../../interaction/form.ts';
import type { Host } from '../../interaction/host.ts';

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

type Sent = { readonly actor: acts.Actor; readonly form: Form; readonly clientId?: string };

/** Adds what the form sent; a string says why it didn't. `accept` is asked once the answer is right. */
export function addFromForm(
  host: Host,
  enrolment: Enrolment,
  { actor, form, clientId }: Sent,
  of: EnrolmentFor,
  accept: () => Promise<boolean> = () => Promise.resolve(true),
): Promise<Enrolled | EnrolmentFault | 'ended'> {
  const adding = { accountId: of.id, clientId, method: methodIn(form) };
  return acts.addFactor(host, actor, adding, async () => {
    const checked = await enrolment.check(of, form);
    if (typeof checked === 'string') return checked;
    return (await accept()) ? checked() : 'ended';
  });
}

// The forms that add a factor, on whichever page they stand, and what they send.
import type { EnrolmentAnswer, NewFactor } from '../users/enrolment.ts';
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

export function enrolmentAnswerOf(form: Form): EnrolmentAnswer {
  return {
    sealed: form.field('sealed'),
    code: form.field('code'),
    response: form.field('response'),
    handle: form.field('handle'),
    name: form.field('name'),
  };
}

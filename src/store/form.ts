// The JSON that others put into the store: each has a version, and may have members that a newer version added. Owns reading it
// without a guess; what the members mean is the business of who wrote them.
import { StoreUnavailable } from './store.ts';

/** The form that this version writes, of everything it keeps as JSON. */
export const FORM_VERSION = 1;

/** Its members, those that this version doesn't know among them: whoever writes it again keeps them. */
export type StoredForm = Readonly<Record<string, unknown>>;

/**
 * Written in a form that only a newer version knows. As an outage it is answered with 503: to call it absent would be a guess,
 * and to write over it a loss.
 */
export class NewerForm extends StoreUnavailable {
  constructor(what: string, version: unknown) {
    super();
    this.name = 'NewerForm';
    this.message = `${what} in the store was written in form ${String(version)}, and this version of the service knows form ${FORM_VERSION}: a newer one runs, or ran, on the same store`;
  }
}

/** `what` names it in the error: "a Session". Throws NewerForm. */
export function parseForm(text: string, what: string): StoredForm {
  const form = JSON.parse(text) as StoredForm;
  const { v = FORM_VERSION } = form;
  if (typeof v !== 'number' || v > FORM_VERSION) throw new NewerForm(what, v);
  return form;
}

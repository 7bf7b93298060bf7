// Reads the JSON that is stored. Each has a version, and may have members that a newer version added.
import { parseJsonObject } from '../config/parse-fields.ts';
import { isWhole } from './shape.ts';
import { type StoredRecord, StoreUnavailable } from './store.ts';

/** The form version of all JSON that this version writes. */
export const FORM_VERSION = 1;

/** Called with a record that is damaged. */
export type OnDamaged = (kind: string, record: StoredRecord) => void;

/** Its members, those that this version doesn't know among them: they are kept when it is written again. */
export type StoredForm = Readonly<Record<string, unknown>>;

/** Which document it is, and the newest form of such documents where that is another. */
type Place = { readonly collection: string; readonly id: string; readonly newest?: number };

/** One document can't be read. The request that needs it is answered with 503; a walk over all users goes on without it. */
export class FormFault extends StoreUnavailable {}

/**
 * Written in a form that only a newer version knows. As an outage it is answered with 503: to call it absent would be a guess,
 * and to write over it a loss.
 */
export class NewerForm extends FormFault {
  constructor(what: string, version: unknown, known = FORM_VERSION) {
    super(
      {},
      `${what} in the store was written in form ${String(version)}, and this version of the service knows form ${known}: a newer one runs, or ran, on the same store`,
    );
  }
}

/** Damaged, and not to be taken for absent: what it held (a user, whether they are disabled) must not be guessed. */
export class UnreadableForm extends FormFault {
  readonly collection: string;
  constructor(what: string, place?: Place, why = 'it is not a JSON object') {
    super({}, `${what} in the store can't be read: ${why}${place === undefined ? '' : ` (${place.id})`}`);
    this.collection = place?.collection ?? what;
  }
}

/** `what` names it in the error: "a Session". Throws NewerForm, and UnreadableForm for what is damaged. */
export function parseForm(text: string, what: string, place?: Place): StoredForm {
  const form = readForm(text, what, place?.newest);
  if (form === undefined) throw new UnreadableForm(what, place);
  return form;
}

/** Undefined for what is damaged. Throws NewerForm. */
export function readForm(text: string, what: string, newest = FORM_VERSION): StoredForm | undefined {
  const form = parseJsonObject(text);
  const { v = FORM_VERSION } = form ?? {};
  if (!Number.isSafeInteger(v)) return undefined;
  if (Number(v) > newest) throw new NewerForm(what, v, newest);
  return form;
}

/** As readForm, of a record that `needs` these members. What is damaged is reported and counts as absent. */
export function createReadRecord(onDamaged: OnDamaged, kind: string, needs: string, newest?: number) {
  const names = needs.split(' ');
  return (record: StoredRecord, text = record.payload): StoredForm | undefined => {
    const form = readForm(text, `a record of the kind ${kind}`, newest);
    if (isWhole(form, names)) return form;
    onDamaged(kind, record);
    return undefined;
  };
}

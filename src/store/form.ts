// Reads stored JSON. Each document has a form version, and may have members that a newer version added.
import { parseJsonObject } from '../config/parse-fields.ts';
import { isWhole } from './shape.ts';
import { type StoredRecord, StoreUnavailable } from './store.ts';

/** The form version of all JSON that this version writes. */
export const FORM_VERSION = 1;

export type OnDamaged = (kind: string, record: StoredRecord) => void;

/** The members of stored JSON, including unknown ones, which are preserved when it is written again. */
export type StoredForm = Readonly<Record<string, unknown>>;

/** Names a document. `newest`: the newest form of such documents, if it isn't FORM_VERSION. */
export type Place = Readonly<{ collection: string; id: string; newest?: number }>;

/** One document can't be read. The request that needs it is answered with 503; a walk over all users skips it. */
export class FormFault extends StoreUnavailable {}

/**
 * The document has a form that only a newer version knows. The answer is 503, as in an outage: treating it as absent would be
 * a guess, and overwriting it would lose data.
 */
export class NewerForm extends FormFault {
  constructor(what: string, version: unknown, known = FORM_VERSION) {
    super(
      {},
      `${what} in the store was written in form ${String(version)}, and this version of the service knows form ${known}: a newer one runs, or ran, on the same store`,
    );
  }
}

/** The document is damaged. It must not count as absent: its content (a user, whether they are disabled) can't be guessed. */
export class UnreadableForm extends FormFault {
  readonly collection: string;
  constructor(what: string, place?: Place, why = 'it is not a JSON object') {
    super({}, `${what} in the store can't be read: ${why}${place === undefined ? '' : ` (${place.id})`}`);
    this.collection = place?.collection ?? what;
  }
}

/** `what` names the document in errors: "a Session". Throws NewerForm, and UnreadableForm for damaged JSON. */
export function parseForm(text: string, what: string, place?: Place): StoredForm {
  const form = readForm(text, what, place?.newest);
  if (form === undefined) throw new UnreadableForm(what, place);
  return form;
}

/** Returns undefined for damaged JSON. Throws NewerForm. */
export function readForm(text: string, what: string, newest = FORM_VERSION): StoredForm | undefined {
  const form = parseJsonObject(text);
  const { v = FORM_VERSION } = form ?? {};
  if (!Number.isSafeInteger(v)) return undefined;
  if (Number(v) > newest) throw new NewerForm(what, v, newest);
  return form;
}

/** Like readForm, for a record that `needs` these members. A damaged record is reported and counts as absent. */
export function createReadRecord(onDamaged: OnDamaged, kind: string, needs: string, newest?: number) {
  const names = needs.split(' ');
  return (record: StoredRecord, text = record.payload): StoredForm | undefined => {
    const form = readForm(text, `a record of the kind ${kind}`, newest);
    if (isWhole(form, names)) return form;
    onDamaged(kind, record);
    return undefined;
  };
}

// The token that binds a form to one interaction and one step of it. Nothing is stored: the interaction's cookie is
// signed, HttpOnly and limited to its path, and the token can't be made without the installation's pepper.
import { isSameHash, type KeyedHash } from '../store/keyed-hash.ts';
import { FormRefusal } from '../views/refusal.ts';
import type { Form } from './form.ts';

export type Csrf = ReturnType<typeof createCsrf>;

export function createCsrf(hash: KeyedHash) {
  const token = (uid: string, step: string) => hash(`csrf:${uid}:${step}`);
  const matches = (form: Form, uid: string, step: string) => isSameHash(token(uid, step), form.field('csrf'));
  return {
    token,
    matches,
    /** Throws Refusal for a form of another page. */
    check(form: Form, uid: string, step: string): void {
      if (!matches(form, uid, step))
        throw new FormRefusal('csrf', 'the form is not from this page, please go back and try again');
    },
  };
}

// A stored text when it is read: a JSON object, or damaged.
import { expect, it } from 'vitest';
import { parseForm, readForm } from '../../../src/store/form.ts';

it.each(['', '{"v":1,"accountId":"usr_al', 'null', '[]', '1', '"text"'])('%j is damaged', (text) => {
  expect(readForm(text, 'a Session')).toBeUndefined();
  expect(() => parseForm(text, 'a Session')).toThrow(
    "a Session in the store can't be read: it is not a JSON object",
  );
});

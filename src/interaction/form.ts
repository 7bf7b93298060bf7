// Reads the forms of the interaction pages, and refuses bodies of another type, which those pages never send. The engine reads its own.
import { text } from 'node:stream/consumers';
import type { Context } from 'koa';
import { Refusal } from '../views/refusal.ts';

const TYPE = 'application/x-www-form-urlencoded';

export type Form = { readonly field: (name: string) => string };

/** Throws Refusal: 415 for other types, 400 for a repeated field. */
export async function readFormBody(ctx: Context): Promise<Form> {
  const fields = await readFields(ctx);
  return {
    field(name) {
      const values = fields.getAll(name);
      if (values.length > 1) throw new Refusal(400, 'invalid_request', 'a field was sent twice');
      return values[0] ?? '';
    },
  };
}

/** The fields of the body, which http/malformed.ts bounds. Throws Refusal 415 for other types. */
export async function readFields(ctx: Context): Promise<URLSearchParams> {
  // A "simple" cross-site request can be text/plain or multipart; neither is one of our forms.
  if (ctx.is(TYPE) !== TYPE) throw new Refusal(415, 'invalid_request', 'that content type is not accepted');
  // An error while reading must not destroy the request: that would close its socket before the answer.
  return new URLSearchParams(await text(ctx.req.iterator({ destroyOnReturn: false })));
}

// Reads the forms of the interaction pages, and refuses what those pages never send: cross-site posts and bodies of another
// type or size. The engine reads its own bodies.
import type { Context } from 'koa';
import { refuseForeignForm } from '../oidc/form-origin.ts';
import { Refusal } from '../views/refusal.ts';

const TYPE = 'application/x-www-form-urlencoded';
const MAX_BYTES = 16 * 1024;

export type Form = { readonly field: (name: string) => string };

/** Throws Refusal: 415 for other types, 413 for too much, 403 for another site's form, 400 for a repeated field. */
export async function readFormBody(ctx: Context, issuer: string): Promise<Form> {
  refuseForeignForm(ctx, issuer);
  const fields = await readFields(ctx, MAX_BYTES);
  return {
    field(name) {
      const values = fields.getAll(name);
      if (values.length > 1) throw new Refusal(400, 'invalid_request', 'a field was sent twice');
      return values[0] ?? '';
    },
  };
}

/** The fields of the body. Throws Refusal 415 for other types, 413 as soon as it grows over `maxBytes`. */
export async function readFields(ctx: Context, maxBytes: number): Promise<URLSearchParams> {
  // A "simple" cross-site request can be text/plain or multipart; neither is one of our forms.
  if (ctx.is(TYPE) !== TYPE) throw new Refusal(415, 'invalid_request', 'that content type is not accepted');
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early must not destroy the request: its socket would go with it, before the answer.
  for await (const chunk of ctx.req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBytes) {
      ctx.set('Connection', 'close');
      throw new Refusal(413, 'invalid_request', 'the form is too large');
    }
    chunks.push(chunk);
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'));
}

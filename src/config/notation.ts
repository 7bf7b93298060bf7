// What the documentation calls a kind of text: a duration, a rate.
import * as z from 'zod';

const names = z.registry<{ readonly name: string }>();

/** Remembers that `schema` is written as `name`. */
export function named<S extends z.ZodType>(name: string, schema: S): S {
  names.add(schema, { name });
  return schema;
}

/** How `schema` is called, when it has a name. */
export function nameOfNotation(schema: z.ZodType): string | undefined {
  return names.get(schema)?.name;
}

// The JSON Schema of the configuration file, for editors and documentation.
import * as z from 'zod';
import { configSchema } from './schema.ts';

/** Draft 7, which is what YAML editors know. */
export function toJsonSchema(): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(configSchema, { io: 'input', target: 'draft-7' });
  return { $schema, title: 'Postern configuration', ...rest };
}

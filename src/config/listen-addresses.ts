// Where a service listens, read from its file without anything else of it: no secret, no client, no person. For callers
// that must work while the rest of the file has problems, as a health check must while the file is edited.
import type { Config } from './config.ts';
import { readDocument } from './document.ts';
import { isRecord, parseFields } from './parse-fields.ts';
import { ProblemList } from './problems.ts';
import { configSchema } from './schema.ts';

type ListenAddresses = Pick<Config, 'listen' | 'management'> & {
  /** Undefined when the file doesn't say it, or says it wrongly. */
  readonly issuer: string | undefined;
};

const addressesSchema = configSchema.pick({ issuer: true, listen: true, management: true });

/** The addresses in `file`; undefined when it can't be read or one of them is wrong. */
export async function readListenAddresses(file: string): Promise<ListenAddresses | undefined> {
  const problems = new ProblemList();
  const document = await readDocument(file, problems);
  if (document === undefined || !isRecord(document.content)) return undefined;
  const { content } = document;
  const known = Object.fromEntries(Object.entries(content).filter(([key]) => key in addressesSchema.shape));
  const { value } = parseFields(addressesSchema, known, problems.reporter(document));
  if (value.listen === undefined || value.management === undefined) return undefined;
  return { listen: value.listen, management: value.management, issuer: value.issuer };
}

/** Where a listener is asked from its own machine: one that listens on every address is on loopback too. */
export function localUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  const name = (everywhere[host] ?? host).replace(/^\[|\]$/g, '');
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

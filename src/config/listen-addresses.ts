// Where a service listens, read from its file without anything else of it: no secret, no client, no person. For callers
// that must work while the rest of the file has problems, as a health check must while the file is edited.
import * as z from 'zod';
import type { Config } from './config.ts';
import { readDocument } from './document.ts';
import { ProblemList } from './problems.ts';
import { configSchema } from './schema.ts';

type ListenAddresses = Pick<Config, 'listen' | 'management'> & {
  /** Undefined when the file doesn't say it, or says it wrongly. */
  readonly issuer: string | undefined;
};

const { issuer, listen, management } = configSchema.shape;
const addressesSchema = z.object({ issuer: issuer.optional().catch(undefined), listen, management });

/** The addresses in `file`; undefined when it can't be read or one of them is wrong. */
export async function readListenAddresses(file: string): Promise<ListenAddresses | undefined> {
  const document = await readDocument(file, new ProblemList());
  const { data } = addressesSchema.safeParse(document?.content);
  return data && { listen: data.listen, management: data.management, issuer: data.issuer };
}

/** Where a listener is asked from its own machine: one that listens on every address is on loopback too. */
export function localUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  const name = (everywhere[host] ?? host).replace(/^\[|\]$/g, '');
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

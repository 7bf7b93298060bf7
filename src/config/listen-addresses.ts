// Where the management listener is, read from its file without anything else of it: no secret, no client, no user. A health check
// must work while the file is edited.
import * as z from 'zod';
import { readDocument } from './document.ts';
import { ProblemList } from './problems.ts';
import { configSchema } from './schema.ts';

const addressSchema = z.object({ management: configSchema.shape.management });

/** Undefined when `file` can't be read or the address is wrong. */
export async function readManagementAddress(file: string) {
  const document = await readDocument(file, new ProblemList());
  return addressSchema.safeParse(document?.content).data?.management;
}

/** Where a listener is asked from its own machine: one that listens on every address is on loopback too. */
export function localUrl({ host, port }: { readonly host: string; readonly port: number }): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  const name = (everywhere[host] ?? host).replace(/^\[|\]$/g, '');
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

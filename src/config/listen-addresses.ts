// Reads only the address of the management listener, because a health check must work while the file is edited.
import * as z from 'zod';
import { readDocument } from './document.ts';
import { ProblemList } from './problems.ts';
import { configSchema } from './schema.ts';

const addressSchema = z.object({ management: configSchema.shape.management });

/** Resolves undefined if `file` can't be read or the address is invalid. */
export async function readManagementAddress(file: string) {
  const document = await readDocument(file, new ProblemList());
  return addressSchema.safeParse(document?.content).data?.management;
}

/** The URL of a listener for its own machine. A listener on all addresses is also on loopback. */
export function localUrl({ host, port }: Readonly<{ host: string; port: number }>): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  const name = (everywhere[host] ?? host).replace(/^\[|\]$/g, '');
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

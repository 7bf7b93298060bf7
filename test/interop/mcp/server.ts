// Starts the MCP servers of docs/mcp.md, and names their clients in postern.yaml.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { CACHE } from '../clients.ts';

/** Longer than access_token in postern.yaml. */
export const EXPIRED_MS = 5500;

export const CLIENT_IDS = {
  registered: 'mcp',
  pinned: 'https://docs.example/pinned.json',
  ...(process.env['DOCUMENTS'] === '1' && { fetched: 'https://docs.example/client.json' }),
};

export const SERVERS = {
  node: [process.execPath, 'server.mjs'],
  python: [path.join(CACHE, 'mcp/bin/python'), 'server.py'],
} as const;

/** Starts a server; resolves the function that ends it, once it listens. */
export async function startServer(
  [program, file]: readonly [string, string],
  { issuer, resource }: { readonly issuer: string; readonly resource: string },
): Promise<() => void> {
  const { port } = new URL(resource);
  const child = spawn(program, [path.join(import.meta.dirname, file)], {
    env: { ...process.env, ISSUER: issuer, RESOURCE: resource, PORT: port },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const stop = () => void child.kill('SIGKILL');
  process.once('exit', stop);
  let isOver = false;
  child.once('close', () => (isOver = true));
  while (!isOver) {
    const answer = await fetch(resource, { method: 'POST' }).catch(() => undefined);
    if (answer?.status === 401) return stop;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${file} ended`);
}

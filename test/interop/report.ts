// The inputs of a client program in this folder, and how it reports what it tried: lines on standard output, which run.ts
// reads. Programs in other languages print the same lines.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`start this with npm run interop: ${name} is not set`);
  return value;
}

/** The address of the service, the client's credentials, and the address of its own app. */
export const settings = {
  issuer: setting('ISSUER'),
  clientId: setting('CLIENT_ID'),
  clientSecret: setting('CLIENT_SECRET'),
  app: setting('APP'),
  api: setting('API'),
  /** Folder for files of this run: certificate, Apache configuration. */
  folder: setting('FOLDER'),
};

/** The installed version of a package, in this folder or in the service. */
export function versionOf(name: string): string {
  const own = new URL(`node_modules/${name}/package.json`, import.meta.url);
  const shared = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  for (const file of [own, shared]) {
    try {
      return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
    } catch {
      // the other one has it
    }
  }
  throw new Error(`${name} is not installed`);
}

export function version(text: string): void {
  process.stdout.write(`version ${text}\n`);
}

/** Reports one thing that was tried and worked. */
export function ok(what: string): void {
  process.stdout.write(`ok ${what}\n`);
}

/** Throws unless `is`. `seen` is shown to explain a failure. */
export function check(is: boolean, what: string, seen?: unknown): void {
  assert.ok(is, `${what}: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
  ok(what);
}

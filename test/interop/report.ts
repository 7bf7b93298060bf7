// What a client program of this folder gets to know, and how it says what it tried: lines on standard output, which run.ts
// reads. Programs in other languages print the same lines.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

function setting(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`start this with npm run interop: ${name} is not set`);
  return value;
}

/** Where the service is, who this client is, and where its own app listens. */
export const settings = {
  issuer: setting('ISSUER'),
  clientId: setting('CLIENT_ID'),
  clientSecret: setting('CLIENT_SECRET'),
  app: setting('APP'),
  api: setting('API'),
  /** For files of this run: certificate, Apache configuration. */
  folder: setting('FOLDER'),
};

/** The version of a package that this folder or the service has installed. */
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

/** One thing that was tried and worked. */
export function ok(what: string): void {
  process.stdout.write(`ok ${what}\n`);
}

/** Throws unless `is`. `seen` is for those who read the failure. */
export function check(is: boolean, what: string, seen?: unknown): void {
  assert.ok(is, `${what}: ${typeof seen === 'string' ? seen : JSON.stringify(seen)}`);
  ok(what);
}

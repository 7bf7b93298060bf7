// Real clients against one service, one program after the other.
import { spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { CACHE, type Client } from './clients.ts';
import { Person } from './person.ts';
import { type Stage, startStage } from './stage.ts';

const CLIENT_MS = 180_000;
const API = 'https://api.example.com/reports';

export type Row = {
  readonly name: string;
  readonly version: string;
  readonly tried: readonly string[];
  readonly seconds: number;
  readonly result: 'ok' | 'FAILED' | 'not built';
  /** The output of the client if it failed. */
  readonly reason: string;
};

/** Tries all clients; `log` is the service's output if one failed. */
export async function tryAll(
  clients: readonly Client[],
  secret?: string,
): Promise<{ readonly rows: readonly Row[]; readonly log: string }> {
  if (clients.length === 0) return { rows: [], log: '' };
  const stage = await startStage(secret);
  const rows: Row[] = [];
  try {
    for (const client of clients) {
      const row = await tryOut(client, stage);
      process.stdout.write(`${row.result.padEnd(9)} ${row.name} ${row.version}\n`);
      rows.push(row);
    }
    return { rows, log: rows.some(({ result }) => result === 'FAILED') ? stage.log() : '' };
  } finally {
    await stage.stop();
  }
}

/** Runs one client program. It prints `version V`, `ok WHAT`, and `visit URL` when a user should open that URL. */
async function tryOut(client: Client, stage: Stage): Promise<Row> {
  const started = performance.now();
  const [program = '', ...args] = client.command;
  const app = `${client.tls === true ? 'https' : 'http'}://localhost:${stage.portFor(client.port ?? 3100)}`;
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: path.join(import.meta.dirname, client.folder ?? '.'),
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...stage.env,
      ISSUER: stage.issuer,
      DOCUMENTS: process.env['DOCUMENTS'] ?? '',
      CLIENT_ID: client.clientId ?? client.name,
      CLIENT_SECRET: stage.clientSecret,
      APP: app,
      ...(client.otherPort !== undefined && {
        OTHER_APP: `http://127.0.0.1:${stage.portFor(client.otherPort)}`,
      }),
      API,
      FOLDER: stage.folder,
      CACHE,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), CLIENT_MS);
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(code === 0 ? '' : `ended with ${code ?? signal}`));
  });

  let version = '';
  const tried: string[] = [];
  const rest: string[] = [];
  const person = new Person();
  for await (const line of createInterface({ input: child.stdout })) {
    const [, word = '', text = ''] = /^(\w+) (.*)$/.exec(line) ?? [];
    if (word === 'version') version = text;
    else if (word === 'ok') tried.push(text);
    else if (word === 'visit') child.stdin.write(`${await visit(person, text, app)}\n`);
    else rest.push(line);
  }
  const end = await ended;
  clearTimeout(timer);
  const said = [...rest, stderr.trim()].join('\n');
  const worked = end === '' && tried.length > 0;
  return {
    name: client.name,
    version,
    tried,
    seconds: (performance.now() - started) / 1000,
    result: worked ? 'ok' : 'FAILED',
    reason: `${end === '' ? 'tried nothing' : end}\n${said}`,
  };
}

/** The page on which the user ends: on the way back to the app, or the page that stopped her. */
async function visit(person: Person, url: string, app: string): Promise<string> {
  try {
    return (await person.open(url, app)).url;
  } catch (error) {
    return `error ${String(error)}`;
  }
}

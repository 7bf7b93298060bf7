// `npm run interop`: real clients against the real service, one program after the other; prints a table and ends with 1
// when anything failed. Arguments name clients to try, without any it is all; --odd-secret, --markdown: see below.
import { execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { type Client, CLIENTS } from './clients.ts';
import { Person } from './person.ts';
import { prepare } from './prepare.ts';
import { type Stage, startStage } from './stage.ts';

const CLIENT_MS = 90_000;
/** Tells who form-encodes Basic credentials (RFC 6749 §2.3.1) and who doesn't. Not part of the usual run. */
const ODD_SECRET = 'odd+fixture/Qm3v%41=T8xZ:5kN1&rB7y~L9wC2 sD6fH4jP0a';
const API = 'https://api.example.com/reports';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'odd-secret': { type: 'boolean' }, markdown: { type: 'boolean' } },
});

type Row = {
  readonly name: string;
  readonly version: string;
  readonly tried: readonly string[];
  /** Undefined when it worked. */
  readonly failure: string | undefined;
};

async function main(): Promise<void> {
  const unknown = positionals.filter((name) => !CLIENTS.some((client) => client.name === name));
  if (unknown.length > 0) throw new Error(`no such client: ${unknown.join(', ')}`);
  const chosen = CLIENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  await prepare(chosen);
  // As in test/setup.ts: keeps the dist/ that is there.
  if (process.env['POSTERN_TEST_NO_BUILD'] !== '1') {
    await promisify(execFile)('npm', ['run', '-s', 'build'], { maxBuffer: 1 << 26 });
  }
  const stage = await startStage(values['odd-secret'] === true ? ODD_SECRET : undefined);
  const rows: Row[] = [];
  try {
    for (const client of chosen) {
      const row = await tryOut(client, stage);
      say(`${row.failure === undefined ? 'ok    ' : 'FAILED'} ${row.name} ${row.version}`);
      rows.push(row);
    }
    for (const { name, failure } of rows) if (failure !== undefined) say(`\n── ${name}\n${failure}`);
    if (rows.some(({ failure }) => failure !== undefined)) say(`\n── the service\n${stage.log()}`);
  } finally {
    await stage.stop();
  }
  say(values.markdown === true ? toMarkdown(rows) : toTable(rows));
  process.exitCode = rows.some(({ failure }) => failure !== undefined) ? 1 : 0;
}

/** Runs one client program. It prints `version V`, `ok WHAT`, and `visit URL` when a person should go there. */
async function tryOut(client: Client, stage: Stage): Promise<Row> {
  const [program = '', ...args] = client.command;
  const app = `${client.tls === true ? 'https' : 'http'}://localhost:${stage.portFor(client.port ?? 3100)}`;
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: path.join(import.meta.dirname, client.folder ?? '.'),
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      ...stage.env,
      ISSUER: stage.issuer,
      CLIENT_ID: client.clientId ?? client.name,
      CLIENT_SECRET: stage.clientSecret,
      APP: app,
      ...(client.otherPort !== undefined && {
        OTHER_APP: `http://127.0.0.1:${stage.portFor(client.otherPort)}`,
      }),
      API,
      FOLDER: stage.folder,
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
  const failure = end !== '' ? `${end}\n${said}` : tried.length === 0 ? `tried nothing\n${said}` : undefined;
  return { name: client.name, version, tried, failure };
}

/** Where the person ends up: on the way back to the app, or what stopped her. */
async function visit(person: Person, url: string, app: string): Promise<string> {
  try {
    return (await person.open(url, app)).url;
  } catch (error) {
    return `error ${String(error)}`;
  }
}

function toTable(rows: readonly Row[]): string {
  const cells = rows.map(({ name, version, failure }) => [
    name,
    version,
    failure === undefined ? 'ok' : 'FAILED',
  ]);
  const width = (column: number) => Math.max(...cells.map((row) => row[column]?.length ?? 0));
  const [first, second] = [width(0), width(1)];
  return rows
    .map((row, index) => {
      const [name = '', version = '', result = ''] = cells[index] ?? [];
      return `${name.padEnd(first)}  ${version.padEnd(second)}  ${result.padEnd(6)}  ${row.tried.join(' · ')}`;
    })
    .join('\n');
}

/** For docs/interop.md. */
function toMarkdown(rows: readonly Row[]): string {
  const lines = rows.map(
    ({ name, version, tried, failure }) =>
      `| ${name} | ${version} | ${tried.join(' · ')} | ${failure === undefined ? 'works' : '**fails**'} |`,
  );
  return ['| Client | Version | Tried | Result |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await main();

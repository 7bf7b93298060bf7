// `npm run interop`: real clients against the real service, one program after the other; prints a table and ends with 1
// when anything failed. Arguments name clients to try, without any it is all; --odd-secret, --markdown: see below. A client
// that this machine can't build is named with the reason and fails nothing.
import { execFile, spawn } from 'node:child_process';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs, promisify } from 'node:util';
import { CACHE, type Client, CLIENTS } from './clients.ts';
import { Person } from './person.ts';
import { build, prepare } from './prepare.ts';
import { type Stage, startStage } from './stage.ts';

const CLIENT_MS = 180_000;
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
  readonly seconds: number;
  readonly result: 'ok' | 'FAILED' | 'not built';
  /** What it said, unless it worked. */
  readonly reason: string;
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
  // Before the service starts: a compiler may take minutes.
  const notBuilt = new Map<Client, string>();
  for (const client of chosen) {
    const reason = await build(client);
    if (reason !== undefined) notBuilt.set(client, reason);
  }
  const stage = await startStage(values['odd-secret'] === true ? ODD_SECRET : undefined);
  const rows: Row[] = [];
  try {
    for (const client of chosen) {
      const reason = notBuilt.get(client);
      const row = reason === undefined ? await tryOut(client, stage) : toUnbuiltRow(client, reason);
      say(`${row.result.padEnd(9)} ${row.name} ${row.version}`);
      rows.push(row);
    }
    for (const { name, result, reason } of rows) if (result !== 'ok') say(`\n── ${name}\n${reason}`);
    if (rows.some(({ result }) => result === 'FAILED')) say(`\n── the service\n${stage.log()}`);
  } finally {
    await stage.stop();
  }
  say(`\n${values.markdown === true ? toMarkdown(rows) : toTable(rows)}`);
  const count = (wanted: Row['result']) => rows.filter(({ result }) => result === wanted).length;
  say(`\n${count('ok')} worked, ${count('FAILED')} failed, ${count('not built')} could not be built here`);
  process.exitCode = count('FAILED') > 0 ? 1 : 0;
}

/** Runs one client program. It prints `version V`, `ok WHAT`, and `visit URL` when a person should go there. */
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

function toUnbuiltRow({ name }: Client, reason: string): Row {
  return { name, version: '', tried: [], seconds: 0, result: 'not built', reason };
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
  const width = (column: 'name' | 'version') => Math.max(...rows.map((row) => row[column].length));
  const [first, second] = [width('name'), width('version')];
  return rows
    .map(({ name, version, result, seconds, tried }) => {
      const start = `${name.padEnd(first)}  ${version.padEnd(second)}  ${result.padEnd(9)}`;
      return `${start}  ${seconds.toFixed(1).padStart(5)} s  ${tried.join(' · ')}`;
    })
    .join('\n');
}

/** For docs/interop.md. */
function toMarkdown(rows: readonly Row[]): string {
  const results = { ok: 'works', FAILED: '**fails**', 'not built': 'not built' };
  const lines = rows.map(
    ({ name, version, tried, result }) =>
      `| ${name} | ${version} | ${tried.join(' · ')} | ${results[result]} |`,
  );
  return ['| Client | Version | Tried | Result |', '| --- | --- | --- | --- |', ...lines].join('\n');
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

await main();

// `npm run interop`: real clients against the real service, one program after the other; prints a table and exits with 1
// if anything failed. Arguments name the clients to try (default: all); --odd-secret, --markdown: see below. A client
// that can't be built on this machine is listed with the reason and doesn't fail the run.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { ensureDist } from '../setup.ts';
import { enterNamespace, namespaceFault } from '../world/namespace.ts';
import { type Client, CLIENTS } from './clients.ts';
import { DOCUMENTS } from './mcp/documents.ts';
import type { Inside } from './mcp/inside.ts';
import { build, prepare } from './prepare.ts';
import { type Row, tryAll } from './try-all.ts';

/** Shows which clients form-encode Basic credentials (RFC 6749 §2.3.1) and which don't. Not part of the usual run. */
const ODD_SECRET = 'odd+fixture/Qm3v%41=T8xZ:5kN1&rB7y~L9wC2 sD6fH4jP0a';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'odd-secret': { type: 'boolean' }, markdown: { type: 'boolean' } },
});

async function main(): Promise<void> {
  const unknown = positionals.filter((name) => !CLIENTS.some((client) => client.name === name));
  if (unknown.length > 0) throw new Error(`no such client: ${unknown.join(', ')}`);
  const chosen = CLIENTS.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
  await prepare(chosen);
  await ensureDist();
  // Before the service starts: a compiler may take minutes.
  const notBuilt = new Map<Client, string>();
  for (const client of chosen) {
    const reason = await build(client);
    if (reason !== undefined) notBuilt.set(client, reason);
  }
  const built = chosen.filter((client) => !notBuilt.has(client));
  const apart = namespaceFault() === undefined ? built.filter(({ documents }) => documents === true) : [];
  const tried = await tryAll(
    built.filter((client) => !apart.includes(client)),
    values['odd-secret'] === true ? ODD_SECRET : undefined,
  );
  const rest = await tryApart(apart);
  const rows = [
    ...tried.rows,
    ...rest.rows,
    ...[...notBuilt].map(([client, reason]) => toUnbuiltRow(client, reason)),
  ];
  for (const { name, result, reason } of rows) if (result !== 'ok') say(`\n── ${name}\n${reason}`);
  for (const { log } of [tried, rest]) if (log !== '') say(`\n── the service\n${log}`);
  say(`\n${values.markdown === true ? toMarkdown(rows) : toTable(rows)}`);
  const count = (wanted: Row['result']) => rows.filter(({ result }) => result === wanted).length;
  say(`\n${count('ok')} worked, ${count('FAILED')} failed, ${count('not built')} could not be built here`);
  process.exitCode = count('FAILED') > 0 ? 1 : 0;
}

/** Tries clients in a separate network, where client ID metadata documents have an address that looks public. */
async function tryApart(clients: readonly Client[]): ReturnType<typeof tryAll> {
  if (clients.length === 0) return { rows: [], log: '' };
  const network = await enterNamespace<Inside>({
    script: path.join(import.meta.dirname, 'mcp/inside.ts'),
    addresses: [DOCUMENTS.address],
    names: [DOCUMENTS.host],
  });
  try {
    return await network.inside.tryNamed(clients.map(({ name }) => name));
  } finally {
    await network.leave();
  }
}

function toUnbuiltRow({ name }: Client, reason: string): Row {
  return { name, version: '', tried: [], seconds: 0, result: 'not built', reason };
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

/** The table of docs/apps/results.md. */
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

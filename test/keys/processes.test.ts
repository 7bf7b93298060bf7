// Nodes in separate processes, on one Redis: their agreement on keys, and how fast they reach it.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { KeyReport } from '../../src/cli/keys.ts';
import { MACHINE_MS } from '../world/clock.ts';
import { machineToken, signIn } from '../world/app.ts';
import { introspect, userinfo } from '../world/presented-tokens.ts';
import { get, readiness, textOf } from '../world/requests.ts';
import { clientCredentials } from '../world/token-endpoint.ts';
import { runVerb } from '../world/command-line.ts';
import { publishedKids } from './nodes.ts';
import { type NodeProcess, type Processes, startProcesses } from './processes.ts';
import { kidOf } from './verifiers.ts';
import { useStarted } from '../world/started.ts';

type Report = {
  readonly generation: number;
  readonly changed?: boolean;
  readonly keys: readonly KeyReport[];
};

async function cli(node: NodeProcess, ...args: readonly string[]): Promise<Report> {
  const { code, stdout, stderr } = await runVerb(['keys', ...args, '--json', '--config', node.configFile]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Report;
}

const list = (node: NodeProcess) => cli(node, 'list');
const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Seconds from now, by the real clock. */
const until = (iso: string) => (Date.parse(iso) - Date.now()) / 1000;

/** Longer than a poll takes on a slow machine. */
const PATIENCE = { timeout: 10_000 + MACHINE_MS, interval: 50 };

describe('four processes on one Redis', () => {
  let processes: Processes;
  let nodes: readonly NodeProcess[];
  let first: NodeProcess;
  let oldKid: string;
  let newKid: string;
  beforeAll(async () => {
    processes = await startProcesses(4, { pollMs: 300 });
    nodes = processes.nodes;
    const [one] = nodes;
    if (one === undefined) throw new Error('no node');
    first = one;
  });
  afterAll(() => processes?.stop());

  it('KY-11: make one ring when they start at once on an empty store', async () => {
    const { generation, keys } = await list(first);
    expect(generation).toBe(1);
    expect(keys.map(({ state }) => state)).toEqual(['active', 'published']);
    for (const node of nodes) expect(await publishedKids(node)).toEqual(keys.map(({ kid }) => kid));
    [oldKid = '', newKid = ''] = keys.map(({ kid }) => kid);
  });

  it('KY-11: are one generation further when four commands rotate at once', async () => {
    const reports = await Promise.all(nodes.map((node) => cli(node, 'rotate')));
    expect(reports.map(({ generation }) => generation)).toEqual([2, 2, 2, 2]);
    expect(new Set(reports.map(({ keys }) => JSON.stringify(keys))).size).toBe(1);
    await expect.poll(async () => (await publishedKids(first)).length, PATIENCE).toBe(3);
    expect((await list(first)).generation).toBe(2);
  });

  it('KY-12: never sign with a key that went while the process was stopped', async () => {
    const zombie = nodes[3];
    if (zombie === undefined) throw new Error('no fourth node');
    expect(kidOf(await machineToken(zombie, 'reports.read'))).toBe(oldKid);
    zombie.pause();
    const { keys } = await list(first);
    const { retire_at: retireAt = '', remove_at: removeAt = '' } = keys[0] ?? {};

    await processes.setClock(until(retireAt) + 1);
    await expect.poll(async () => kidOf(await machineToken(first, 'reports.read')), PATIENCE).toBe(newKid);
    expect((await list(first)).generation).toBe(2);

    // The private part is removed: one step, found due by three processes at once.
    await processes.setClock(until(retireAt) + 125);
    await expect.poll(async () => (await list(first)).generation, PATIENCE).toBe(3);
    await sleep(1000);
    expect((await list(first)).generation).toBe(3);

    await processes.setClock(until(removeAt) + 1);
    await expect.poll(() => publishedKids(first), PATIENCE).not.toContain(oldKid);
    expect((await list(first)).generation).toBe(4);

    // These requests wait in the stopped process's socket; it sees them first when it continues.
    const answers = Array.from({ length: 20 }, () => clientCredentials(zombie, { scope: 'reports.read' }));
    await sleep(200);
    zombie.resume();
    for (const answer of await Promise.all(answers)) {
      if (answer.status === 200) expect(kidOf(textOf(answer, 'access_token'))).toBe(newKid);
      else expect(answer.status, answer.text).toBe(503);
    }
    await expect
      .poll(async () => machineToken(zombie, 'reports.read').then(kidOf, () => ''), PATIENCE)
      .toBe(newKid);
    expect(await publishedKids(zombie)).toEqual(await publishedKids(first));
  });

  it('are all ready, and have refused nothing but to sign after a jump of the clock', async () => {
    for (const node of nodes) {
      await expect.poll(() => readiness(node), PATIENCE).toMatchObject({ status: 200, problems: [] });
    }
    const errors = processes
      .errors()
      .split('\n')
      .filter((line) => line !== '');
    // The store call of a process that was just then suspended gets no answer in time.
    const expected = /signing keys were not confirmed|can't reach the store/;
    expect(errors.filter((line) => !expected.test(line))).toEqual([]);
  });
});

describe('a key that leaked', () => {
  // The nodes check only at their own intervals.
  const processes = useStarted(() => startProcesses(2, { pollMs: Infinity }));

  it('KY-19: is out on all nodes within 5 s, the reserve signs, and its tokens are dead', async () => {
    const [here, there] = processes().nodes;
    if (here === undefined || there === undefined) throw new Error('two nodes');
    const { tokens } = await signIn(here);
    const machine = await machineToken(there, 'reports.read');
    const [leaked = '', reserve = ''] = await publishedKids(here);
    expect([kidOf(tokens.access_token), kidOf(machine)]).toEqual([leaked, leaked]);
    const logout = async (node: NodeProcess) =>
      (await get(node, `/oauth/logout?id_token_hint=${tokens.id_token ?? ''}`, { accept: 'text/html' }))
        .status;
    expect(await logout(there)).toBe(200);

    const { keys } = await cli(here, 'compromise', leaked);
    const writtenAt = Date.now();
    expect(keys.map(({ kid, state }) => [kid, state])).toEqual([
      [leaked, 'compromised'],
      [reserve, 'active'],
      [expect.any(String), 'published'],
    ]);
    for (const node of processes().nodes) {
      await expect.poll(() => publishedKids(node), PATIENCE).not.toContain(leaked);
    }
    expect(Date.now() - writtenAt).toBeLessThan(5000 + MACHINE_MS);

    for (const node of processes().nodes) {
      expect(kidOf(await machineToken(node, 'reports.read'))).toBe(reserve);
      expect(await introspect(node, machine)).toEqual({ active: false });
      expect(await introspect(node, tokens.access_token)).toEqual({ active: false });
      expect((await userinfo(node, tokens.access_token)).status).toBe(401);
      expect(await logout(node)).toBe(400);
    }
    expect(processes().errors()).toBe('');
  });
});

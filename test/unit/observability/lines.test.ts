import { execFileSync, spawn } from 'node:child_process';
import { readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Lines } from '../../../src/observability/lines.ts';
import { testFolder } from '../../world/temp-folder.ts';

let folder: string;
beforeEach(() => void (folder = testFolder()));

describe('lines in a file', () => {
  it('are appended in order, whole, to what an earlier process wrote', async () => {
    const to = path.join(folder, 'deep', 'audit.jsonl');
    for (const run of ['first', 'second']) {
      const lines = new Lines(to);
      for (let count = 0; count < 5000; count += 1) lines.write(`${run} ${count} ${'é'.repeat(50)}\n`);
      await lines.close();
    }
    const written = readFileSync(to, 'utf8').trimEnd().split('\n');
    expect(written).toHaveLength(10_000);
    expect(written[0]).toMatch(/^first 0 /);
    expect(written[9999]).toMatch(/^second 4999 /);
  });

  it('can be read by their owner only', async () => {
    const to = path.join(folder, 'audit.jsonl');
    await new Lines(to).close();
    expect(statSync(to).mode & 0o777).toBe(0o600);
  });
});

it('RD-32: a disk that is full delays no request: what has no room is dropped, and closing ends', async () => {
  // The kernel's device that acts as a full disk.
  const lines = new Lines('/dev/full');
  for (let count = 0; count < 3000; count += 1) lines.write(`${'x'.repeat(1023)}\n`);
  expect(lines.waitingBytes).toBe(1_048_576);
  expect(await lines.close()).toBe(false);
});

it('a file that a full disk cut off has every record whole on a line of its own, also when another process goes on, or it is opened again', async () => {
  const to = path.join(folder, 'audit.jsonl');
  const script = path.join(folder, 'writer.ts');
  const code = `
    import { Lines } from ${JSON.stringify(path.resolve('src/observability/lines.ts'))};
    const lines = new Lines(${JSON.stringify(to)});
    for (let count = 0; count < 9; count += 1) lines.write(JSON.stringify({ count, text: 'x'.repeat(1000) }) + '\\n');
    process.on('SIGXFSZ', () => {});
    setTimeout(() => {}, 600);
  `;
  writeFileSync(script, code);
  // The last write is cut off after 6 KiB, in the middle of a record.
  execFileSync('bash', ['-c', `ulimit -f 6; exec ${process.execPath} --no-warnings ${script}`]);
  expect(readFileSync(to, 'utf8').endsWith('\n')).toBe(false);
  const lines = new Lines(to);
  lines.write('{"next":1}\n');
  const moved = `${to}.1`;
  renameSync(to, moved);
  lines.reopen();
  lines.write('{"next":2}\n');
  expect(await lines.close()).toBe(true);
  expect(readFileSync(moved, 'utf8').split('\n').slice(-2)).toEqual(['{"next":1}', '']);
  expect(readFileSync(to, 'utf8')).toBe('{"next":2}\n');
});

it('a reader of the pipe that is slow gets every line whole, though three processes write into one pipe', async () => {
  const script = path.join(folder, 'writer.ts');
  const source = path.resolve('src/observability/lines.ts');
  const code = `
    import { Lines } from ${JSON.stringify(source)};
    const lines = new Lines(1);
    for (let count = 0; count < 400; count += 1) lines.write(JSON.stringify({ who: process.argv[2], count, text: 'x'.repeat(700) }) + '\\n');
    const keepAlive = setInterval(() => {}, 1000);
    await lines.close();
    clearInterval(keepAlive);
  `;
  writeFileSync(script, code);
  const node = `${process.execPath} --no-warnings ${script}`;
  const all = spawn('bash', ['-c', `{ ${node} a & ${node} b & ${node} c & wait; } | { sleep 0.3; cat; }`]);
  let text = '';
  all.stdout.on('data', (chunk) => (text += String(chunk)));
  await new Promise((resolve) => all.on('close', resolve));
  const rows = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { who: string; count: number });
  expect(rows).toHaveLength(1200);
  for (const who of 'abc') {
    const counts = rows.filter((row) => row.who === who).map((row) => row.count);
    expect(counts).toEqual([...Array(400).keys()]);
  }
});

it.each(['is full', 'is closed'])('bounds its buffer and can exit when a pipe %s', async (state) => {
  const script = path.join(folder, 'writer.ts');
  const code = `
  import { Lines } from ${JSON.stringify(path.resolve('src/observability/lines.ts'))};
  // As in the service, this makes a full pipe answer EAGAIN.
  void process.stdout.isTTY;
  const lines = new Lines(1);
  for (let round = 1; round <= 2; round += 1) {
    for (let count = 0; count < 3000; count += 1) lines.write('x'.repeat(1023) + '\\n');
    if (await lines.close()) throw new Error('it was written');
  }
  console.error(lines.waitingBytes);
`;
  writeFileSync(script, code);
  const child = spawn(process.execPath, ['--no-warnings', script]);
  onTestFinished(() => void child.kill('SIGKILL'));
  // The pipe isn't read, so it is full once the kernel's buffer is.
  if (state === 'is closed') child.stdout.destroy();
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += String(chunk)));
  expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(0);
  expect(Number(stderr)).toBeLessThanOrEqual(1_048_576);
});

// A folder that can't be created is one clear error, for every part that creates folders. Node's `recursive` never returns below /proc.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { createFolder } from '../../../src/observability/folder.ts';
import { Lines } from '../../../src/observability/lines.ts';
import { openLmdb } from '../../../src/store/lmdb/lmdb-store.ts';
import { configFolder, testFolder } from '../../world/temp-folder.ts';
import { runProgram } from '../../world/process.ts';
import { postern } from '../../world/terminal.ts';

const NOWHERE = '/proc/x/y';
const SAID = "the folder /proc/x can't be created (ENOENT): correct the path or its permissions";

it('a folder below /proc ends each command with one line', async () => {
  const { file } = configFolder();
  const dex = file('dex.yaml', 'issuer: https://dex.example\nstaticClients: [{ id: web }]\n');
  const views = file('views.yaml', `issuer: http://localhost:3000\nviews: ${NOWHERE}\n`);
  for (const args of [
    ['init', NOWHERE],
    ['migrate', 'dex', dex, '--out', NOWHERE],
    ['views', 'eject', 'login', '--config', views],
  ])
    expect(await postern(args)).toMatchObject({ code: 1, stderr: `${SAID}\n` });
  expect(() => new Lines(`${NOWHERE}/audit.jsonl`)).toThrow(SAID);
  const opening = openLmdb({ folder: NOWHERE, now: Date.now });
  await expect(opening).rejects.toThrow(`the store folder ${NOWHERE} can't be opened: ${SAID}`);
});

it('the error has the reason of the folder that fails', () => {
  const folder = testFolder();
  const parent = path.join(folder, 'closed');
  mkdirSync(parent, { mode: 0o000 });
  writeFileSync(path.join(folder, 'file'), '');
  expect(() => createFolder(path.join(folder, 'file', 'x', 'y'))).toThrow(
    "file/x can't be created (ENOTDIR)",
  );
  // Root may write everywhere, so it becomes another user for the call.
  const [seteuid, isRoot] = [process.seteuid?.bind(process), process.geteuid?.() === 0];
  if (isRoot) seteuid?.(65_534);
  try {
    expect(() => createFolder(path.join(parent, 'x', 'y'))).toThrow("can't be created (EACCES)");
  } finally {
    if (isRoot) seteuid?.(0);
  }
});

it('the error has the reason where the working folder is closed to the user of the process', async () => {
  const script = `import { chmodSync } from 'node:fs';
    import { createFolder } from '${import.meta.resolve('../../../src/observability/folder.ts')}';
    process.chdir(process.argv[1]), chmodSync('.', 0);
    if (process.getuid() === 0) process.setuid(65_534);
    createFolder('x/y');`;
  const command = [process.execPath, '--input-type=module', '--eval', script, testFolder()];
  expect((await runProgram(command, {})).stderr).toContain("Error: the folder x can't be created (EACCES)");
});

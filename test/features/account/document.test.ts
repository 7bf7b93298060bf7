// docs/account.md: its setting is a configuration, and its commands run as printed, in their order, beside a running service.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { postern, useEnvironment } from '../../world/terminal.ts';
import { startWorld, type World, WORLD_ENV } from '../../world/world.ts';

const DOCUMENT = 'docs/account.md';
/** For `user add`, from a pipe. */
const PASSWORD = 'seven wet umbrellas\n';

useEnvironment(() => WORLD_ENV);

const blocksOf = (text: string, language: string) =>
  [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].flatMap(([, of, block = '']) =>
    of === language ? [block] : [],
  );

describe(DOCUMENT, () => {
  let text: string;
  let world: World;
  beforeAll(async () => {
    text = await readFile(DOCUMENT, 'utf8');
    world = await startWorld({ config: parse(blocksOf(text, 'yaml')[0] ?? '') as Record<string, unknown> });
  });
  afterAll(() => world.stop());

  it('has a setting that switches the page on', async () => {
    const page = await fetch(`${world.base}/account`, { redirect: 'manual' });
    expect(page.status).toBe(303);
  });

  it('has commands that run, one after the other', async () => {
    const commands = (blocksOf(text, '')[0] ?? '').split('\n').filter((line) => line !== '');
    expect(commands.length).toBe(3);
    for (const command of commands) {
      const args = command
        .replace(/^postern /, '')
        .replace('alice', 'amelie')
        .split(' ');
      const { code } = await postern([...args, '--config', world.configFile], PASSWORD);
      expect([command, code]).toEqual([command, 0]);
    }
  });
});

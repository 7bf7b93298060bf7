// docs/account.md: its setting is a configuration, and its commands run as printed, in their order, beside a running service.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useEnvironment } from '../../world/terminal.ts';
import { startWorld, type World, WORLD_ENV } from '../../world/world.ts';
import { blocksOf, runPrinted } from '../../world/document.ts';

const DOCUMENT = 'docs/account.md';

useEnvironment(() => WORLD_ENV);

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
    expect(await runPrinted(blocksOf(text, '')[0], world)).toBe(3);
  });
});

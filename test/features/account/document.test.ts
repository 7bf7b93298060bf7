// docs/account.md: its setting is a configuration, and its commands run as printed, in their order, beside a running service.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { useEnvironment } from '../../world/terminal.ts';
import { WORLD_ENV } from '../../world/world.ts';
import { blocksOf, runPrinted } from '../../world/document.ts';
import { useWorld } from '../../world/each-store.ts';

const DOCUMENT = 'docs/account.md';

useEnvironment(() => WORLD_ENV);

describe(DOCUMENT, () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const world = useWorld({ config: parse(blocksOf(text, 'yaml')[0] ?? '') as Record<string, unknown> });

  it('has a setting that switches the page on', async () => {
    const page = await fetch(`${world().base}/account`, { redirect: 'manual' });
    expect(page.status).toBe(303);
  });

  it('has commands that run, one after the other', async () => {
    expect(await runPrinted(blocksOf(text, '')[0], world())).toBe(3);
  });
});

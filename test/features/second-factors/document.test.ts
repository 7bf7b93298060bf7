// docs/second-factors.md: its settings are a configuration, and its commands run as printed, in their order, beside a running service.
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { levelsOf } from '../../../src/config/sign-in-levels.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { useEnvironment } from '../../world/terminal.ts';
import { WORLD_ENV } from '../../world/world.ts';
import { blocksOf, runPrinted } from '../../world/document.ts';
import { useWorld } from '../../world/each-store.ts';

const DOCUMENT = 'docs/second-factors.md';

useEnvironment(() => WORLD_ENV);

describe(DOCUMENT, () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const world = useWorld({ config: parse(blocksOf(text, 'yaml')[0] ?? '') as Record<string, unknown> });

  it('has settings that are a configuration', async () => {
    const settings = blocksOf(text, 'yaml').map((block) => parse(block) as Record<string, unknown>);
    const [signIn, { clients }] = settings as [object, { clients: object[] }];
    const redirect = () => ({ redirect_uris: ['https://app.example/cb'], scope: 'openid' });
    const own = clients.map((client) => ({ ...client, ...redirect(), token_endpoint_auth_method: 'none' }));
    const file = path.join(path.dirname(world().configFile), 'of-the-document.yaml');
    const rest = { issuer: 'http://localhost:3000', clients: own };
    await writeFile(file, stringify({ ...rest, ...signIn }));
    const config = await loadConfig(file);
    expect(config.clients.map((client) => client.signIn?.require)).toEqual(['second_factor', 'passkey']);
    expect(levelsOf(config)?.offered.map((level) => levelsOf(config)?.nameOf(level))).toEqual([
      'urn:postern:acr:password',
      'urn:postern:acr:second-factor',
      'urn:postern:acr:passkey',
    ]);
    expect(Object.keys(signIn)).toEqual(['sign_in']);
  });

  it('has commands that run, and names the ones that there are', async () => {
    expect(await runPrinted(blocksOf(text, '')[0], world())).toBeGreaterThan(3);
  });
});

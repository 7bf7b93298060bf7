// docs/keys.md: its setting is a configuration, and its code reads the ID tokens that an app then gets.
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { signIn } from '../world/app.ts';
import { type OpenWorld, PEOPLE, startWorld, worldClients } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';

const DOCUMENT = 'docs/keys.md';

type Settings = { readonly clients: readonly [object] };
type Recipe = { readonly readIdToken: (token: string) => Promise<unknown> };

describe(DOCUMENT, () => {
  let code = '';
  const folder = tempFolder();
  let world: OpenWorld;
  beforeAll(async () => {
    const [, section = ''] = (await readFile(DOCUMENT, 'utf8')).split('\n## Other algorithms\n');
    const [setting = '', recipe = ''] = [...section.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(
      ([, block = '']) => block.replaceAll('wiki', 'web'),
    );
    const { clients, ...settings } = parse(setting) as Settings;
    world = await startWorld({ config: { ...settings, clients: worldClients({ web: clients[0] }) } });
    code = recipe.replace('https://id.example.com', world.issuer);
  });
  afterAll(() => world.stop());

  it('has code that reads an ID token of the algorithm, and no other', async () => {
    const file = path.join(folder, 'recipe.mjs');
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    await writeFile(file, code);
    const { readIdToken } = (await import(file)) as Recipe;
    const { tokens } = await signIn(world);
    expect(await readIdToken(tokens.id_token ?? '')).toBe(PEOPLE.alice);
    // Also a token of this service, for the same user.
    await expect(readIdToken(tokens.access_token)).rejects.toThrow('"alg"');
  });
});

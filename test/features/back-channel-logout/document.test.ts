// docs/back-channel-logout.md: its setting is a configuration, and its code reads the logout token that an app gets.
import { readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decodeJwt } from 'jose';
import { parse } from 'yaml';
import { signIn } from '../../world/app.ts';
import { type LogoutReceiver, startLogoutReceiver } from '../../world/logout-receiver.ts';
import { type OpenWorld, startWorld, worldClients } from '../../world/world.ts';
import { signOut } from '../../world/person.ts';
import { tempFolder } from '../../world/temp-folder.ts';

const DOCUMENT = 'docs/back-channel-logout.md';

type Recipe = { readonly readLogoutToken: (token: string) => Promise<unknown> };

describe(DOCUMENT, () => {
  let blocks: readonly string[];
  const folder = tempFolder();
  let receiver: LogoutReceiver;
  let world: OpenWorld;
  beforeAll(async () => {
    const text = await readFile(DOCUMENT, 'utf8');
    blocks = [...text.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block);
    receiver = await startLogoutReceiver();
    // The printed text, with the addresses of this machine.
    const here = (block = '') =>
      parse(
        block
          .replaceAll('wiki.corp.example', 'localhost')
          .replaceAll('https://wiki.example', receiver.origin)
          .replaceAll('wiki', 'web'),
      ) as object;
    const { clients: [changes = {}] = [] } = here(blocks[0]) as { clients?: object[] };
    world = await startWorld({ config: { ...here(blocks[2]), clients: worldClients({ web: changes }) } });
  });
  afterAll(async () => {
    await world.stop();
    receiver.stop();
  });

  it('has code that reads the token, and refuses another one', async () => {
    const file = path.join(folder, 'recipe.mjs');
    await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
    const code = blocks[1] ?? '';
    await writeFile(file, code.replace('https://id.example.com', world.issuer).replace("'wiki'", "'web'"));
    const { readLogoutToken } = (await import(file)) as Recipe;

    const { browser, tokens } = await signIn(world, { scope: 'openid' });
    await signOut(world, browser);
    const { sid } = decodeJwt(tokens.id_token ?? '');
    const [sent] = await receiver.wait(sid);
    expect(sent?.path).toBe('/logout');
    expect(await readLogoutToken(sent?.token ?? '')).toBe(sid);
    await expect(readLogoutToken(tokens.id_token ?? '')).rejects.toThrow('typ');
  });
});

// docs/device-flow.md: its setting is a configuration, and its commands run as printed, beside a running service.
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { isDonePage, letIn } from './device.ts';
import { worldClients } from '../../world/world.ts';
import { blocksOf } from '../../world/document.ts';
import { useWorld } from '../../world/each-store.ts';

const DOCUMENT = 'docs/device-flow.md';

type Answer = Readonly<Record<string, unknown>>;

describe(DOCUMENT, () => {
  const text = readFileSync(DOCUMENT, 'utf8');
  const { clients, ...settings } = parse(blocksOf(text, 'yaml')[0] ?? '') as {
    readonly clients: readonly object[];
  };
  const world = useWorld({ config: { ...settings, clients: [...worldClients(), ...clients] } });

  const here = (block: string) => block.replaceAll('https://id.example.com', world().issuer);

  async function run(command = ''): Promise<Answer> {
    const { stdout } = await promisify(execFile)('sh', ['-c', here(command)]);
    return JSON.parse(stdout) as Answer;
  }

  it('has commands that let a device in', async () => {
    const [ask, poll = ''] = blocksOf(text, 'sh');
    const asked = await run(ask);
    const printed = here(blocksOf(text, 'json')[0] ?? '')
      .replace('…', String(asked['device_code']))
      .replaceAll('WDJB-MJHT', String(asked['user_code']));
    expect(asked).toEqual(JSON.parse(printed));

    const next = async () => run(poll.replace('DEVICE_CODE', String(asked['device_code'])));
    expect((await next())['error']).toBe('authorization_pending');
    expect((await next())['error']).toBe('slow_down');
    const page = await letIn(world(), { userCode: String(asked['user_code']) });
    expect(isDonePage(page)).toBe(true);
    expect(Object.keys(await next())).toEqual(expect.arrayContaining(['access_token', 'refresh_token']));
  });

  it('asks oidc-agent for what "npm run interop" asks it for', async () => {
    const printed = blocksOf(text, 'sh')[2] ?? '';
    const tried = readFileSync('test/interop/oidc-agent.mjs', 'utf8');
    const options = printed.match(/--[a-z-]+=/g) ?? [];
    expect(options.length).toBeGreaterThan(4);
    for (const option of options) expect(tried).toContain(option);
  });
});

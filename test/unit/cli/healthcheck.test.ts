// `postern healthcheck`, which containers and service managers rely on: against the service, and against other programs on
// that port.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Store, StoreUnavailable } from '../../../src/store/store.ts';
import { freePort } from '../../world/servers.ts';
import { postern } from '../../world/terminal.ts';
import { startWorld, type World } from '../../world/world.ts';
import { answerWith } from '../../world/answer-with.ts';

let world: World;

beforeAll(async () => {
  world = await startWorld();
});
afterAll(() => world.stop());

async function writeConfigAs(name: string, content: unknown): Promise<string> {
  const file = path.join(world.folder, name);
  await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

async function askAt(url: string) {
  const file = await writeConfigAs('elsewhere.json', { management: { port: Number(new URL(url).port) } });
  return postern(['healthcheck', '--config', file]);
}

describe('postern healthcheck', () => {
  it('is 0 for a service that is ready, with nothing of its secrets at hand', async () => {
    // The references of this file name variables that only the service has.
    expect(process.env['TEST_ENCRYPTION_KEY']).toBeUndefined();
    const ended = await postern(['healthcheck', '--config', world.configFile]);
    expect(ended).toEqual({ code: 0, stdout: 'ready\n', stderr: '' });
    const live = await postern(['healthcheck', '--live', '--config', world.configFile]);
    expect(live).toEqual({ code: 0, stdout: 'ok\n', stderr: '' });
    const { stdout } = await postern(['healthcheck', '--json', '--config', world.configFile]);
    expect(JSON.parse(stdout)).toEqual({ ok: true, status: 'ready', problems: [] });
  });

  it('finds a service that listens on every address', async () => {
    const port = Number(new URL(world.management).port);
    const file = await writeConfigAs('everywhere.json', { management: { host: '0.0.0.0', port } });
    expect((await postern(['healthcheck', '--config', file])).code).toBe(0);
  });

  it('goes by the address alone, whatever else is wrong with the file', async () => {
    const port = Number(new URL(world.management).port);
    const file = await writeConfigAs(
      'broken.yaml',
      `management: { port: ${port} }\nissuer: nonsense\nclients: 5\nnew: x\n`,
    );
    expect(await postern(['healthcheck', '--config', file])).toEqual({
      code: 0,
      stdout: 'ready\n',
      stderr: '',
    });
  });

  it('asks the default address when the file says none, and says so', async () => {
    const file = await writeConfigAs('torn.yaml', 'management: [\n');
    const { stderr } = await postern(['healthcheck', '--config', file]);
    expect(stderr).toMatch(/torn\.yaml has no valid management address: trying http:\/\/127\.0\.0\.1:3001/);
  });

  it('is 2 for a file that is not there, whatever listens on the default port', async () => {
    const file = path.join(world.folder, 'nope.yaml');
    const stderr = `${file} does not exist\n`;
    expect(await postern(['healthcheck', '--config', file])).toEqual({ code: 2, stdout: '', stderr });
  });

  it('is 1 with one line why, when nobody answers', async () => {
    const { code, stdout, stderr } = await askAt(`http://127.0.0.1:${await freePort()}`);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(
      /^not healthy: http:\/\/127\.0\.0\.1:\d+\/readyz did not respond: ECONNREFUSED\n$/,
    );
  });

  it('is 1 when something else answers, or does not end its answer', async () => {
    const other = await answerWith((_request, response) => response.end('hello'));
    const { code, stderr } = await askAt(`http://127.0.0.1:${other}`);
    expect(code).toBe(1);
    expect(stderr).toMatch(/returned 200, but not from Postern\n$/);
    const silent = await answerWith((_request, response) => {
      response.writeHead(200).flushHeaders();
    });
    const late = await askAt(`http://127.0.0.1:${silent}`);
    expect(late.code).toBe(1);
    expect(late.stderr).toMatch(/timeout after 5 s\n$/);
  });

  it('is 1 with the reason, when the service is not ready, and 0 still with --live', async () => {
    let isAway = false;
    const ping = async (store: Store) => (isAway ? Promise.reject(new StoreUnavailable()) : store.ping());
    const own = await startWorld({
      handStore: (store) => ({ ...store, ping: () => ping(store), close: () => store.close() }),
    });
    isAway = true;
    const { code, stderr } = await postern(['healthcheck', '--config', own.configFile]);
    const live = await postern(['healthcheck', '--live', '--config', own.configFile]);
    await own.stop();
    expect(code).toBe(1);
    expect(stderr).toBe("not ready: can't reach the store\n");
    expect(live.code).toBe(0);
  });
});

// The management listener answers only to its own names: a web page whose DNS name is made to resolve to it (DNS
// rebinding) can't read its answers.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../world/servers.ts';
import { startProcess, type ServiceProcess } from '../world/process.ts';
import { inProcesses, PROCESSES } from '../world/processes.ts';
import { raw } from '../world/raw.ts';
import { sendBytes } from '../world/wire.ts';
import { writeWorldConfig } from '../world/world.ts';
import { tempFolder } from '../world/temp-folder.ts';

describe.each(PROCESSES)('the management listener of a service with workers: %i', (workers) => {
  const folder = tempFolder();
  let port: number;
  let service: ServiceProcess;
  beforeAll(async () => {
    const ports = [await freePort(), await freePort()] as const;
    [, port] = ports;
    const management = { host: '127.0.0.1', port, hosts: ['postern-a', 'Metrics.internal'] };
    const { configFile } = await writeWorldConfig(
      folder,
      { config: { ...inProcesses(workers), management } },
      ports,
    );
    service = await startProcess(configFile);
  });
  afterAll(() => service?.end());

  const ask = (target: string, host: string, headers: Record<string, string> = {}) =>
    raw(`http://127.0.0.1:${port}`, { target, headers: { host, ...headers } });

  const own = '127.0.0.1 127.0.0.1:9 10.0.0.7:3001 [::1] [fd00::7]:3001 localhost LocalHost:3001'.split(' ');
  it.each(own)('answers a request for %s', async (host) => {
    expect((await ask('/readyz', host)).status).toBe(200);
    expect((await ask('/metrics', host)).text).toContain('postern_ready');
  });

  it.each(['postern-a', 'postern-a:3001', 'metrics.internal', 'METRICS.INTERNAL'])(
    'answers %s, which management.hosts names',
    async (host) => {
      expect((await ask('/readyz', host)).status).toBe(200);
    },
  );

  it('refuses a target that is no URL', async () => {
    for (const target of ['http://[', 'http://[::1']) {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`;
      expect((await sendBytes(`http://127.0.0.1:${port}`, bytes)).status, target).toBe(400);
    }
  });

  it('refuses two Host headers', async () => {
    for (const target of ['/healthz', '/readyz', '/metrics']) {
      const bytes = `GET ${target} HTTP/1.1\r\nHost: localhost\r\nhost: evil.example\r\nConnection: close\r\n\r\n`;
      expect((await sendBytes(`http://127.0.0.1:${port}`, bytes)).status, target).toBe(400);
    }
  });

  const foreign = `evil.example evil.example:3001 localhost.evil.example 127.0.0.1.evil.example evil-localhost
    localhost:3001@evil.example 0x7f.evil metrics.internal.evil.example`.split(/\s+/);
  it.each(foreign)('answers 421 to a request for %s, but for /healthz', async (host) => {
    for (const target of ['/readyz', '/metrics', '/try', '/nothing', `http://127.0.0.1:${port}/readyz`]) {
      const { status, text } = await ask(target, host, { 'x-forwarded-host': 'localhost' });
      expect([status, JSON.parse(text)]).toEqual([
        421,
        { error: 'the host name of this request is not in management.hosts of the configuration' },
      ]);
    }
    expect(await ask('/healthz', host)).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  });
});

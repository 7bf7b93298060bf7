// `postern healthcheck`: asks the management listener of a running service whether it is ready, for containers and service
// managers. It reads only the address from the configuration, and opens no store.
import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { readDocument } from '../config/document.ts';
import { parseJsonObject } from '../config/parse-fields.ts';
import { ProblemList } from '../config/problems.ts';
import { configSchema } from '../config/schema.ts';
import { addVerb, type VerbOptions } from './configuration.ts';
import { Ended, EXIT, type CliIo } from './io.ts';

type HealthOptions = VerbOptions & { readonly live?: boolean };

const TIMEOUT_MS = 5000;
/** The default of schema.ts: a file that is being edited must not get a running container killed. */
const DEFAULT_MANAGEMENT = 'http://127.0.0.1:3001';

/** Adds the verb. Exit code 0: ready; 1: not ready, with one line why; 2: there is no such file. */
export function registerHealthcheck(program: Command, { stdout, stderr }: CliIo): void {
  addVerb(program, 'healthcheck', 'check whether the service on this machine is ready')
    .option('--live', 'check only that the service is running')
    .action(async (options: HealthOptions) => {
      const base = await managementUrl(options.config, (line) => stderr.write(`${line}\n`));
      const health = await askHealth(new URL(options.live === true ? '/healthz' : '/readyz', base));
      if (options.json === true) stdout.write(`${JSON.stringify(health)}\n`);
      else if (health.ok) stdout.write(`${health.status}\n`);
      else stderr.write(`${health.status}: ${health.problems.join('; ')}\n`);
      if (!health.ok) throw new Ended(EXIT.refused);
    });
}

async function managementUrl(file: string, say: (line: string) => void): Promise<string> {
  if (!existsSync(file)) {
    say(`${file} does not exist`);
    throw new Ended(EXIT.misuse);
  }
  const document = await readDocument(file, new ProblemList());
  const { management } = Object(document?.content) as { readonly management?: unknown };
  const { data: address } = configSchema.shape.management.safeParse(management);
  if (document && address) return localUrl(address);
  say(`${file} has no valid management address: trying ${DEFAULT_MANAGEMENT}`);
  return DEFAULT_MANAGEMENT;
}

/** The URL of a listener for its own machine. A listener on all addresses is also on loopback. */
function localUrl({ host, port }: Readonly<{ host: string; port: number }>): string {
  const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1', '[::]': '::1' };
  const name = (everywhere[host] ?? host).replace(/^\[|\]$/g, '');
  return `http://${name.includes(':') ? `[${name}]` : name}:${port}`;
}

type Health = Readonly<{ ok: boolean; status: string; problems: readonly string[] }>;

async function askHealth(url: URL): Promise<Health> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const answer = await fetch(url, { signal, redirect: 'manual' });
    const { status, problems } = parseJsonObject(await answer.text()) ?? {};
    if (typeof status !== 'string')
      return unhealthy(`${url.href} returned ${answer.status}, but not from Postern`);
    const said = Array.isArray(problems) ? problems.map(String) : [];
    return { ok: answer.status === 200, status, problems: said };
  } catch (error) {
    const { code = 'no answer' } = Object(error instanceof Error && error.cause) as { code?: string };
    return unhealthy(`${url.href} did not respond: ${signal.aborted ? 'timeout after 5 s' : code}`);
  }
}

const unhealthy = (problem: string): Health => ({ ok: false, status: 'not healthy', problems: [problem] });

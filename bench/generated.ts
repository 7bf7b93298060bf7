// The load generator as a subject: starts generator.ts, gives it its orders, and counts the CPU of the service meanwhile.
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Found, GeneratorOptions, Mode, Order } from './generator.ts';
import type { Slice } from './load.ts';
import type { Postern } from './postern.ts';
import { backgroundCpuSeconds, cpuSeconds } from './processes.ts';
import type { Subject } from './rounds.ts';
import type { Stage } from './section.ts';

/** More failures than that are no result. */
const FEW = 0.02;
/** A crowd is told to come back, and a soak has a row for what was broken off. */
const REFUSES: readonly Mode[] = ['sign-in', 'mixed'];

export type Generator = {
  prepare(seconds: number): Promise<void>;
  /** That much of its work, so that the service's code is compiled. */
  warm(count: number): Promise<void>;
  go(seconds: number): Promise<Slice>;
};

export function startGenerator(
  stage: Stage,
  service: Postern,
  options: Omit<GeneratorOptions, 'issuer'>,
): Generator {
  const given: GeneratorOptions = { ...options, issuer: service.issuer };
  const args = ['--no-warnings', 'bench/generator.ts', JSON.stringify(given)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  stage.later(async () => void child.kill());

  async function tell(order: Order): Promise<string> {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the load generator (${options.mode}) ended, see above`);
    return value;
  }

  return {
    async prepare(seconds) {
      await tell({ order: 'prepare', seconds });
    },
    async warm(count) {
      await tell({ order: 'prepare', seconds: 1 });
      await tell({ order: 'warm', count });
    },
    async go(seconds) {
      const count = () => [cpuSeconds(service.pid), backgroundCpuSeconds(service.pid)] as const;
      const [cpuBefore, backgroundBefore] = count();
      const found = JSON.parse(await tell({ order: 'go', seconds })) as Found;
      const [cpu, background] = count();
      if (found.refused > found.done * FEW && !REFUSES.includes(options.mode)) {
        throw new Error(`${found.refused} of ${found.done} pieces of work failed (${options.mode})`);
      }
      return {
        perSecond: found.done / found.seconds,
        cpuMicroseconds: ((cpu - cpuBefore) / found.done) * 1e6,
        backgroundMicroseconds: ((background - backgroundBefore) / found.done) * 1e6,
        p50Ms: found.p50Ms,
        p99Ms: found.p99Ms,
        refused: found.refused,
      };
    },
  };
}

/** `name` unless the service's own; `warm` pieces of work before the first round, instead of a slice. */
export type GeneratedOptions = Omit<GeneratorOptions, 'issuer'> & {
  readonly name?: string;
  readonly warm?: number;
};

export function generated(
  stage: Stage,
  service: Postern,
  { name = service.name, warm, ...options }: GeneratedOptions,
): Subject {
  const generator = startGenerator(stage, service, options);
  return {
    name,
    ...(warm !== undefined && { warm: () => generator.warm(warm) }),
    async slice(seconds) {
      await generator.prepare(seconds);
      return generator.go(seconds);
    },
  };
}

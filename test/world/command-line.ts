// The command line in a second process, which runs one verb after the other: starting Node takes longer than most verbs, and LMDB forbids
// the process of a world to open the world's folder twice. Use it to test what a verb does. Tests that need a separate process, such as
// `serve` beside other verbs, use `runCli` (process.ts).
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { COMPILED, type Ended } from './process.ts';
import { WORLD_ENV } from './world.ts';

const SCRIPT = fileURLToPath(new URL('run-verbs.ts', import.meta.url));

let verbs: ChildProcess | undefined;
let last: Promise<unknown> = Promise.resolve();

/** Runs one verb to its end, after the previous one has ended. */
export async function runVerb(args: readonly string[], input = ''): Promise<Ended> {
  const ended = last.then(() => sendVerb({ args, input }));
  last = ended.catch(() => undefined);
  return ended;
}

async function sendVerb(verb: object): Promise<Ended> {
  const child = (verbs ??= startVerbs());
  child.channel?.ref();
  const heard = new AbortController();
  const died = once(child, 'exit', heard).then(([code]) => {
    verbs = undefined;
    throw new Error(`the command line ended with ${code}`);
  });
  died.catch(() => undefined);
  try {
    const answered = once(child, 'message', heard);
    child.send(verb);
    const [ended] = (await Promise.race([answered, died])) as [Ended];
    return ended;
  } finally {
    heard.abort();
    child.channel?.unref();
  }
}

/** Starts the process, which exits when its channel to this process closes. */
function startVerbs(): ChildProcess {
  const { PATH, HOME } = process.env;
  const child = fork(SCRIPT, {
    env: { PATH, HOME, ...WORLD_ENV, ...COMPILED },
    execArgv: ['--no-warnings'],
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  child.unref();
  return child;
}

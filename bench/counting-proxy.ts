// A proxy between the service and its Redis that hears every command and delays every batch of them. With the delay, what
// waits for an answer is far apart from what was sent beside it, so sequential trips can be told from commands.
import { createHash } from 'node:crypto';
import { connect, createServer, type Socket } from 'node:net';
import { SCRIPTS } from '../src/store/redis/scripts.ts';

/** Far more than what a process needs between an answer and its next command, far less than the service's patience. */
export const DELAY_MS = 25;

export type Heard = { readonly atMs: number; readonly command: string };

export type CountingProxy = {
  readonly url: string;
  /** Everything so far, in order. */
  readonly heard: readonly Heard[];
  stop(): Promise<void>;
};

const SCRIPT_NAMES = new Map(
  Object.entries(SCRIPTS).map(([name, { lua }]) => [createHash('sha1').update(lua).digest('hex'), name]),
);

export async function startCountingProxy(redisPort: number): Promise<CountingProxy> {
  const heard: Heard[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(redisPort, '127.0.0.1');
    const commands = new RespReader();
    sockets.add(near).add(far);
    near.on('data', (chunk: Buffer) => {
      const atMs = performance.now();
      for (const words of commands.read(chunk)) heard.push({ atMs, command: describe(words) });
      setTimeout(() => far.write(chunk), DELAY_MS);
    });
    far.pipe(near);
    for (const socket of [near, far]) {
      socket.on('error', () => undefined).on('close', () => void (near.destroy(), far.destroy()));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `redis://127.0.0.1:${address.port}`,
    heard,
    async stop() {
      sockets.forEach((socket) => socket.destroy());
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Commands are arrays of byte strings: `*2\r\n$3\r\nGET\r\n$1\r\nk\r\n`. */
class RespReader {
  #rest = '';

  read(chunk: Buffer): string[][] {
    this.#rest += chunk.toString('latin1');
    const commands: string[][] = [];
    for (let parsed = parse(this.#rest); parsed !== undefined; parsed = parse(this.#rest)) {
      commands.push(parsed.words);
      this.#rest = this.#rest.slice(parsed.length);
    }
    return commands;
  }
}

function parse(text: string): { readonly words: string[]; readonly length: number } | undefined {
  let at = 0;
  const number = () => {
    const end = text.indexOf('\r\n', at);
    if (end < 0) return undefined;
    const value = Number(text.slice(at + 1, end));
    at = end + 2;
    return value;
  };
  const count = number();
  if (count === undefined) return undefined;
  const words: string[] = [];
  while (words.length < count) {
    const length = number();
    if (length === undefined || text.length < at + length + 2) return undefined;
    words.push(text.slice(at, at + length));
    at += length + 2;
  }
  return { words, length: at };
}

/** The script or command, and what kind of key it is about; hashes are left out. */
function describe([verb = '', ...args]: readonly string[]): string {
  if (!/^(evalsha|eval)$/i.test(verb)) return `${verb.toUpperCase()} ${kindOf(args[0] ?? '', args[1])}`;
  const [script = '', , key = '', ...rest] = args;
  const sha = /^eval$/i.test(verb) ? createHash('sha1').update(script).digest('hex') : script;
  const name = SCRIPT_NAMES.get(sha) ?? 'script';
  // The last argument of indexRecord names what is added.
  return name === 'indexRecord'
    ? `${name} ${kindOf(`postern:record:${rest.at(-1)}`)}`
    : `${name} ${kindOf(key)}`;
}

function kindOf(key: string, field = ''): string {
  if (key.includes('{grant:')) return key.endsWith(':dead') ? 'tombstone' : 'grant index';
  const [, area = '', kind = ''] = key.split(':');
  if (area === 'record') return kind;
  if (area === 'alias') return `alias of ${kind}`;
  if (area === 'documents') return `document ${kind}${field === '' ? '' : ` ${field.slice(0, 12)}`}`;
  return area === 'counter' ? 'counter' : key.slice(0, 30);
}

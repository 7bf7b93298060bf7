// A connection to a listener, byte by byte: which bytes are sent, when, and when the other side closes it.
import { connect, type Socket } from 'node:net';

export type WireAnswer = {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
};

export type Wire = {
  /** Sends Latin-1 text, which can express every byte. Returns false once the other side has closed. */
  write(bytes: string): boolean;
  /** All bytes received until the other side closed, and the milliseconds until then. */
  readonly ended: Promise<{ readonly received: string; readonly afterMs: number }>;
  /** All bytes received so far. */
  received(): string;
  destroy(): void;
};

/** Connects. `base` is only the address. */
export async function openWire(base: string): Promise<Wire> {
  const { hostname, port } = new URL(base);
  const socket: Socket = connect(Number(port), hostname);
  let received = '';
  const begun = performance.now();
  socket.setEncoding('latin1');
  socket.on('data', (chunk: string) => (received += chunk));
  // A reset counts as a close.
  socket.on('error', () => undefined);
  const ended = new Promise<{ received: string; afterMs: number }>((resolve) => {
    socket.once('close', () => resolve({ received, afterMs: performance.now() - begun }));
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  return {
    write: (bytes) => !socket.destroyed && socket.writable && (socket.write(bytes, 'latin1'), true),
    ended,
    received: () => received,
    destroy: () => socket.destroy(),
  };
}

export function parseAnswer(received: string): WireAnswer {
  const end = received.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = received.slice(0, Math.max(0, end)).split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  return {
    status: Number(statusLine.split(' ')[1] ?? 0),
    headers: new Map(headers),
    text: received.slice(end + 4),
  };
}

/** An answer that takes longer hangs, even on a busy machine; it stays below the service's own deadline for a body. */
export const ANSWER_TIMEOUT_MS = 11_000;

/** Sends the bytes and waits until the other side closes. Rejects after the timeout. */
export async function sendBytes(base: string, bytes: string): Promise<WireAnswer> {
  const wire = await openWire(base);
  wire.write(bytes);
  const timer = setTimeout(() => wire.destroy(), ANSWER_TIMEOUT_MS);
  const { received, afterMs } = await wire.ended;
  clearTimeout(timer);
  if (afterMs >= ANSWER_TIMEOUT_MS) throw new Error(`no end of the answer to ${bytes.slice(0, 300)}`);
  return parseAnswer(received);
}

export type WireRequest = {
  readonly method?: string;
  readonly target: string;
  /** Header lines in the order in which they are sent, besides Host and Connection. */
  readonly headers?: readonly string[];
  readonly body?: string;
};

/** A request that is well formed except for the given parts. */
export function toBytes({ method = 'GET', target, headers = [], body }: WireRequest): string {
  const length = body === undefined ? [] : [`Content-Length: ${Buffer.byteLength(body, 'latin1')}`];
  const lines = [
    `${method} ${target} HTTP/1.1`,
    'Host: id.example',
    ...headers,
    ...length,
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

export const FORM = 'Content-Type: application/x-www-form-urlencoded';

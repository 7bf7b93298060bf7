// One HTTP/1.1 connection that is kept, as cheap as Node allows: the load generator runs on the cores that it measures.
// Understands what our servers send (Content-Length, or no body), and throws at anything else.
import { connect, type Socket } from 'node:net';

export type WireAnswer = {
  readonly status: number;
  readonly location: string | undefined;
  readonly cookies: readonly string[];
  readonly text: string;
};

export type WireRequest = {
  readonly method: 'GET' | 'POST';
  /** Path and query. */
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
};

const FORM = 'application/x-www-form-urlencoded';

type Waiting = { readonly resolve: (answer: WireAnswer) => void; readonly reject: (error: Error) => void };

/** Servers close what is idle, after 5 s in Node; a request that meets the closing would be lost. */
const IDLE_MS = 2000;

export class Connection {
  readonly #origin: URL;
  #socket: Socket | undefined;
  #usedAt = 0;
  #received = '';
  #waiting: Waiting | undefined;

  /** `origin`: `http://HOST:PORT`. Connects with the first request, and again after a pause. */
  constructor(origin: string) {
    this.#origin = new URL(origin);
  }

  /** One at a time. */
  async ask({ method, target, headers = {}, body }: WireRequest): Promise<WireAnswer> {
    const socket = this.#connected();
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    if (body !== undefined) lines.push(`content-type: ${FORM}\r\ncontent-length: ${body.length}\r\n`);
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      socket.write(
        `${method} ${target} HTTP/1.1\r\nhost: ${this.#origin.host}\r\n${lines.join('')}\r\n${body ?? ''}`,
      );
    });
  }

  close(): void {
    this.#waiting = undefined;
    this.#socket?.destroy();
    this.#socket = undefined;
  }

  #connected(): Socket {
    const now = performance.now();
    const isFresh = now - this.#usedAt < IDLE_MS && this.#socket?.destroyed === false;
    this.#usedAt = now;
    if (isFresh && this.#socket !== undefined) return this.#socket;
    this.#socket?.destroy();
    this.#received = '';
    const { hostname, port } = this.#origin;
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    this.#socket = socket;
    // latin1 keeps one character a byte, so that lengths are right.
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      this.#received += chunk;
      this.#read();
    });
    // One that was left behind has nothing to say about its successor.
    const fail = (error: Error) => socket === this.#socket && this.#fail(error);
    socket.on('error', fail);
    socket.on('close', () => fail(new Error('the server closed the connection')));
    return socket;
  }

  #read(): void {
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return;
    const [first = '', ...lines] = this.#received.slice(0, end).split('\r\n');
    const status = Number(first.split(' ')[1]);
    const values = (name: string) =>
      lines
        .filter((line) => line.toLowerCase().startsWith(`${name}:`))
        .map((line) => line.slice(name.length + 2));
    const [length] = values('content-length');
    if (length === undefined && status !== 204 && status !== 304) {
      this.#fail(new Error(`an answer without Content-Length: ${first}`));
      return;
    }
    const stop = end + 4 + Number(length ?? 0);
    if (this.#received.length < stop) return;
    const text = this.#received.slice(end + 4, stop);
    this.#received = this.#received.slice(stop);
    const waiting = this.#waiting;
    this.#waiting = undefined;
    this.#usedAt = performance.now();
    waiting?.resolve({ status, location: values('location')[0], cookies: values('set-cookie'), text });
  }

  #fail(error: Error): void {
    this.#waiting?.reject(error);
    this.#waiting = undefined;
  }
}

// An HTTP server whose close loses no request: it accepts no further connections, each answer from then on is the
// last of its connection, and unused connections are closed after a moment. server.ts has the deadlines.
import { Server, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http';
import { Server as Acceptor, type Socket } from 'node:net';

/** Below the 10 s after which container runtimes kill. */
const DRAIN_TIMEOUT_MS = 8000;
/** When the stop begins, a busy connection's next request may be on its way; it may take this long to arrive. */
const NEXT_REQUEST_MS = 500;
/** The most requests of one connection that may wait for their response. A caller that reads none would fill the memory. */
const MAX_PIPELINED = 32;
/** Node's statuses by error code; any other error is a bad request. */
const STATUSES: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
};

export class DrainingServer extends Server {
  /** Each connection with its open responses, the oldest first. */
  readonly #open = new Map<Socket, Set<ServerResponse>>();
  readonly #unreadable = new WeakSet<Socket>();
  #answeredAt = Number.NEGATIVE_INFINITY;
  #closed: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    super(options);
    this.on('connection', (socket: Socket) => {
      this.#open.set(socket, new Set());
      socket.once('close', () => this.#open.delete(socket));
    });
    this.on('request', (_request, response) => this.#follow(response));
    this.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket: Socket) => {
      void this.#end(socket, STATUSES[code] ?? 400);
    });
    this.on('connect', (_request, socket: Socket) => void this.#end(socket));
  }

  get openConnections(): number {
    return this.#open.size;
  }

  /** Ends connections without traffic for `ms`, unless a request waits for the service. */
  cutOffUnread(ms: number): void {
    this.setTimeout(ms, (socket: Socket) => {
      const isAwaited = this.#answersOn(socket).size > 0 && socket.writableLength === 0;
      if (!isAwaited) socket.destroy();
    });
  }

  /** Drains once, however often it is called. node:cluster calls it too, when the primary stops its workers. */
  override close(callback?: (error?: Error) => void): this {
    this.#closed ??= this.#drain();
    void this.#closed.then(() => callback?.());
    return this;
  }

  /** Closes a connection after its earlier responses. Node would close it at once and lose them. */
  async #end(socket: Socket, status?: number): Promise<void> {
    // Each further packet causes another error.
    if (this.#unreadable.has(socket)) return;
    this.#unreadable.add(socket);
    socket.on('error', () => undefined);
    const answers = this.#answersOn(socket);
    const last = [...answers].findLast(({ req }) => req.complete);
    if (last !== undefined) await new Promise((resolve) => last.once('close', resolve));
    if (status !== undefined && socket.writable && ![...answers].some(({ headersSent }) => headersSent))
      socket.write(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nConnection: close\r\n\r\n`);
    socket.destroySoon();
  }

  #follow(response: ServerResponse): void {
    const { socket } = response.req;
    const answers = this.#answersOn(socket).add(response);
    if (answers.size > MAX_PIPELINED) socket.destroy();
    if (this.#closed !== undefined) sayLast(response);
    response.once('close', () => {
      answers.delete(response);
      this.#answeredAt = performance.now();
    });
  }

  /** Empty for a connection that is closed. */
  #answersOn(socket: Socket): Set<ServerResponse> {
    return this.#open.get(socket) ?? new Set();
  }

  async #drain(): Promise<void> {
    // Not http's own close: it disconnects callers between two requests, and stops the deadlines for slow ones.
    const closed = new Promise<void>((resolve) => Acceptor.prototype.close.call(this, () => resolve()));
    const answers = [...this.#open.values()].flatMap((some) => [...some]);
    for (const response of answers) sayLast(response);
    const isQuiet = answers.length === 0 && performance.now() - this.#answeredAt > NEXT_REQUEST_MS;
    if (isQuiet) this.#closeUnused();
    const unused = setInterval(() => this.#closeUnused(), NEXT_REQUEST_MS);
    const deadline = setTimeout(() => this.closeAllConnections(), DRAIN_TIMEOUT_MS);
    await closed;
    clearInterval(unused);
    clearTimeout(deadline);
    // Only http's own timer is left to stop.
    super.close();
  }

  #closeUnused(): void {
    this.closeIdleConnections();
    // Connections that browsers open in advance don't count as idle.
    for (const socket of this.#open.keys()) if (socket.bytesRead === 0) socket.destroy();
  }
}

function sayLast(response: ServerResponse): void {
  if (!response.headersSent) response.setHeader('Connection', 'close');
}

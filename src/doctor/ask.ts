// One HTTP request, as a stranger on the network sends it, and everything of its answer: headers that came twice stay two.
// Owns no judgement.
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';

const TIMEOUT_MS = 10_000;
const LARGEST_BYTES = 1024 * 1024;

export type Question = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** A form. */
  readonly body?: string;
  /** Which of this machine's addresses the request comes from. */
  readonly from?: string | undefined;
  /** For the whole answer. */
  readonly timeoutMs?: number;
};

export type Answer = {
  readonly status: number;
  /** Every value of a header, in order; none for one that isn't there. */
  readonly all: (name: string) => readonly string[];
  /** The first value, or nothing. */
  readonly header: (name: string) => string;
  readonly body: string;
  /** The body, where it is a JSON object. */
  readonly json: Readonly<Record<string, unknown>> | undefined;
  /** The address that the request came from. */
  readonly from: string;
};

export type Ask = (url: string, question?: Question) => Promise<Answer>;

/** There was no answer; the message says why, in one line. */
export class Unanswered extends Error {
  readonly code: string;

  constructor(url: string, code: string) {
    super(`${withoutQuery(url)} did not answer: ${code}`);
    this.name = 'Unanswered';
    this.code = code;
  }
}

export const ask: Ask = (url, question = {}) =>
  new Promise((resolve, reject) => {
    const deadline = AbortSignal.timeout(question.timeoutMs ?? TIMEOUT_MS);
    const fail = (code: string) =>
      reject(new Unanswered(url, deadline.aborted ? `no answer within ${seconds(question)} s` : code));
    const request = send(url, question, deadline);
    request.once('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    request.once('response', (response) => {
      const from = response.socket.localAddress ?? '';
      read(response).then(
        (body) => resolve(toAnswer(response, body, from)),
        () => fail('the answer was cut off'),
      );
    });
    request.end(question.body);
  });

function seconds({ timeoutMs = TIMEOUT_MS }: Question): number {
  return timeoutMs / 1000;
}

function send(url: string, { method, headers, body, from }: Question, signal: AbortSignal): ClientRequest {
  const options = {
    method: method ?? (body === undefined ? 'GET' : 'POST'),
    agent: false,
    signal,
    // A name may have addresses of the other family, which this one can't talk to.
    ...(from !== undefined && { localAddress: from, family: isIP(from) }),
    headers: {
      'user-agent': 'postern-doctor',
      accept: '*/*',
      ...(body !== undefined && {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': String(Buffer.byteLength(body)),
      }),
      ...headers,
    },
  };
  // Nothing secret is ever sent, so a certificate that nobody trusts must not hide what lies behind it; tls.ts judges it.
  return url.startsWith('https:')
    ? httpsRequest(url, { ...options, rejectUnauthorized: false })
    : httpRequest(url, options);
}

async function read(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_BYTES) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function toAnswer({ statusCode, headersDistinct }: IncomingMessage, body: string, from: string): Answer {
  const all = (name: string): readonly string[] => headersDistinct[name] ?? [];
  return {
    status: statusCode ?? 0,
    all,
    header: (name) => all(name)[0] ?? '',
    body,
    json: toObject(body),
    from: from.replace(/^::ffff:/, ''),
  };
}

function toObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function withoutQuery(url: string): string {
  return url.split('?', 1)[0] ?? url;
}

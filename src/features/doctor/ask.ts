// Sends one HTTP request. Repeated headers of the answer stay separate.
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { parseJsonObject } from '../../config/parse-fields.ts';

const TIMEOUT_MS = 10_000;

type AskOptions = { readonly headers?: Readonly<Record<string, string>> };

export type Answer = Readonly<{
  status: number;
  all: (name: string) => readonly string[];
  /** The first value, or an empty text. */
  header: (name: string) => string;
  /** The body, if it is a JSON object. */
  json: Readonly<Record<string, unknown>> | undefined;
}>;

export type Ask = (url: string, options?: AskOptions) => Promise<Answer>;

/** No answer; the message gives the reason in one line. */
export class Unanswered extends Error {
  constructor(url: string, reason: string) {
    super(`${url.split('?', 1)[0]} did not answer: ${reason}`);
    this.name = 'Unanswered';
  }
}

export const ask: Ask = (url, { headers } = {}) =>
  new Promise((resolve, reject) => {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const fail = (reason: string) =>
      reject(new Unanswered(url, signal.aborted ? `no answer within ${TIMEOUT_MS / 1000} s` : reason));
    const send = url.startsWith('https:') ? requestHttps : requestHttp;
    const request = send(url, {
      agent: false,
      signal,
      headers: { 'user-agent': 'postern-doctor', accept: '*/*', ...headers },
      // Nothing secret is sent, and a service behind an untrusted certificate is checked too; tls.ts checks the certificate.
      rejectUnauthorized: false,
    });
    request.once('error', (error: NodeJS.ErrnoException) => fail(error.code ?? error.message));
    request.once('response', (response) => {
      const all = (name: string): readonly string[] => response.headersDistinct[name] ?? [];
      const answer = { status: response.statusCode ?? 0, all, header: (name: string) => all(name)[0] ?? '' };
      text(response).then(
        (content) => resolve({ ...answer, json: parseJsonObject(content) }),
        () => fail('the answer was cut off'),
      );
    });
    request.end();
  });

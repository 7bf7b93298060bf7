// Hosts that publish client metadata documents, in place of outbound requests. Which hosts may be called isn't tested here.
import type { IncomingHttpHeaders } from 'node:http';
import {
  type Outgoing,
  type OutgoingAnswer,
  OutgoingRefused,
  type OutgoingRequest,
} from '../../../src/outgoing/guard.ts';

type Page = {
  readonly status?: number;
  readonly headers?: IncomingHttpHeaders;
  readonly body?: unknown;
};

export class DocumentHost implements Outgoing {
  /** Every URL that was requested, in order. */
  readonly asked: string[] = [];
  readonly #pages = new Map<string, Page | Promise<Page>>();

  /** Publishes a document for a public client, with the given members in place of its own. */
  publish(
    url: string,
    members: Readonly<Record<string, unknown>> = {},
    headers: IncomingHttpHeaders = {},
  ): void {
    const document = {
      client_id: url,
      client_name: 'App of nobody',
      redirect_uris: ['https://docs.example/cb'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      ...members,
    };
    this.answer(url, { body: document, headers });
  }

  /** Sets the answer for a URL. A promised page is sent when it resolves. */
  answer(url: string, page: Page | Promise<Page>): void {
    this.#pages.set(url, page);
  }

  /** Takes the host of this URL offline. */
  fail(url: string): void {
    this.#pages.delete(url);
  }

  timesAsked(url: string): number {
    return this.asked.filter((one) => one === url).length;
  }

  async request(url: string, { method }: OutgoingRequest): Promise<OutgoingAnswer> {
    if (method === 'POST') throw new OutgoingRefused('connection', 'it takes no form');
    this.asked.push(url);
    const page = await this.#pages.get(url);
    if (page === undefined) throw new OutgoingRefused('timeout', 'it did not answer in two seconds');
    const { status = 200, headers, body = {} } = page;
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    return { status, headers: { 'content-type': 'application/json', ...headers }, body: Buffer.from(text) };
  }
}

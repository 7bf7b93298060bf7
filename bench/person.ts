// A person in a browser and the app behind it, step by step: authorization request, sign-in, consent, code for tokens.
// Owns cookies and forms as far as these pages have them; counts and times nothing.
import { createHash, randomBytes } from 'node:crypto';
import { PASSWORD, REDIRECT_URI, WEB_BASIC } from './names.ts';
import type { Connection, WireAnswer, WireRequest } from './wire.ts';

/** Recorded of each answer, for whoever counts. */
export type OnAnswer = (request: WireRequest, answer: WireAnswer) => void;

export type Tokens = { readonly accessToken: string; readonly refreshToken: string };

type Page = { readonly text: string };
type Form = { readonly target: string; readonly fields: Readonly<Record<string, string>> };

export class Person {
  readonly #issuer: string;
  readonly #username: string;
  readonly #connection: Connection;
  readonly #onAnswer: OnAnswer;
  /** Name and path to value. */
  readonly #cookies = new Map<
    string,
    { readonly name: string; readonly value: string; readonly path: string }
  >();
  readonly #verifier = randomBytes(32).toString('base64url');

  /** The connection may be used again afterwards, by somebody else. */
  constructor(
    issuer: string,
    username: string,
    connection: Connection,
    onAnswer: OnAnswer = () => undefined,
  ) {
    this.#issuer = issuer;
    this.#username = username;
    this.#connection = connection;
    this.#onAnswer = onAnswer;
  }

  /** The whole flow: first sign-in and first consent of this person. */
  async flow(): Promise<Tokens> {
    const login = await this.openLogin();
    const afterLogin = await this.#submit(login, { username: this.#username, password: PASSWORD });
    return this.#consent(await this.#follow(afterLogin));
  }

  /** After `flow`: the browser has a session, and the person is asked for consent alone. */
  async flowInSession(): Promise<Tokens> {
    return this.#consent(await this.#authorize());
  }

  /** The authorization request, up to the sign-in page. */
  async openLogin(): Promise<Form> {
    return formOf(await this.#authorize(), '/login');
  }

  async #consent(page: Page): Promise<Tokens> {
    const given = await this.#submit(formOf(page, '/consent'), {});
    const { callback } = await this.#follow(given);
    return this.#redeem(callback?.searchParams.get('code') ?? '');
  }

  async #authorize(): Promise<Page> {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'web',
      redirect_uri: REDIRECT_URI,
      scope: 'openid email profile offline_access reports.read',
      prompt: 'consent',
      state: randomBytes(16).toString('base64url'),
      nonce: randomBytes(16).toString('base64url'),
      code_challenge: createHash('sha256').update(this.#verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const answer = await this.#ask({ method: 'GET', target: `/oauth/authorize?${query.toString()}` });
    return this.#follow(answer);
  }

  /** Refused: the service has too much to do, and says so. */
  async trySignIn({ target, fields }: Form): Promise<true | 'refused'> {
    const typed = { username: this.#username, password: PASSWORD };
    const answer = await this.#send(target, { ...fields, ...typed });
    if (answer.status === 303) return true;
    if (answer.status === 503 || answer.status === 429) return 'refused';
    throw new Error(`sign-in of ${this.#username}: ${answer.status}`);
  }

  async #redeem(code: string): Promise<Tokens> {
    const body = new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: this.#verifier,
    }).toString();
    const request = { method: 'POST', target: '/oauth/token', headers: WEB_BASIC, body } as const;
    const answer = await this.#connection.ask(request);
    this.#onAnswer(request, answer);
    return tokensOf(answer);
  }

  async #submit({ target, fields }: Form, typed: Readonly<Record<string, string>>): Promise<WireAnswer> {
    const answer = await this.#send(target, { ...fields, ...typed });
    if (answer.status >= 400) throw new Error(`POST ${target}: ${answer.status}`);
    return answer;
  }

  async #send(target: string, form: Readonly<Record<string, string>>): Promise<WireAnswer> {
    return this.#ask({ method: 'POST', target, body: new URLSearchParams(form).toString() });
  }

  /** Redirects within the issuer, to a page or to the one that leaves for the app. */
  async #follow(first: WireAnswer): Promise<Page & { readonly callback?: URL }> {
    let answer = first;
    while (answer.location !== undefined) {
      const url = new URL(answer.location, this.#issuer);
      if (!url.href.startsWith(this.#issuer)) return { text: '', callback: url };
      answer = await this.#ask({ method: 'GET', target: `${url.pathname}${url.search}` });
    }
    return answer;
  }

  async #ask(request: WireRequest): Promise<WireAnswer> {
    const [path = ''] = request.target.split('?');
    const cookie = [...this.#cookies.values()]
      .filter(
        (one) => path === one.path || path.startsWith(one.path.endsWith('/') ? one.path : `${one.path}/`),
      )
      .map(({ name, value }) => `${name}=${value}`)
      .join('; ');
    const headers = { accept: 'text/html', ...(cookie !== '' && { cookie }) };
    const answer = await this.#connection.ask({ ...request, headers });
    this.#onAnswer(request, answer);
    for (const header of answer.cookies) this.#keep(header, path);
    return answer;
  }

  #keep(header: string, requestPath: string): void {
    const [pair = '', ...attributes] = header.split('; ');
    const split = pair.indexOf('=');
    const [name, value] = [pair.slice(0, split), pair.slice(split + 1)];
    const path = attributes.find((one) => /^path=/i.test(one))?.slice('path='.length) ?? requestPath;
    if (value === '') this.#cookies.delete(`${name};${path}`);
    else this.#cookies.set(`${name};${path}`, { name, value, path });
  }
}

/** What the token endpoint answered; throws when it refused. */
export function tokensOf({ status, text }: WireAnswer): Tokens {
  if (status !== 200) throw new Error(`the token endpoint answered ${status}: ${text}`);
  const { access_token: accessToken, refresh_token: refreshToken } = JSON.parse(text) as Record<
    string,
    string
  >;
  if (accessToken === undefined || refreshToken === undefined) throw new Error(`no refresh token: ${text}`);
  return { accessToken, refreshToken };
}

/** The form of a page whose action ends with `action`, and its hidden fields. */
function formOf({ text }: Page, action: string): Form {
  for (const [form] of text.matchAll(/<form[\s\S]*?<\/form>/g)) {
    const target = /action="([^"]*)"/.exec(form)?.[1];
    if (target?.endsWith(action) !== true) continue;
    const hidden = [...form.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].map(([input]) => [
      /name="([^"]*)"/.exec(input)?.[1] ?? '',
      /value="([^"]*)"/.exec(input)?.[1] ?? '',
    ]);
    const url = new URL(target, 'http://localhost');
    return { target: `${url.pathname}${url.search}`, fields: Object.fromEntries(hidden) as Form['fields'] };
  }
  throw new Error(`no form for ${action} on this page:\n${text.slice(0, 1500)}`);
}

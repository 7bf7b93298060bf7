// A user in a browser and the app behind it: authorization request, sign-in and consent where asked, code for tokens.
import { createHash, randomBytes } from 'node:crypto';
import { Browser, formOf } from '../test/world/browser.ts';
import { ask } from './load.ts';
import { PASSWORD, personName, REDIRECT_URI, SCOPE, WEB } from './names.ts';
import type { Service } from './service.ts';

export type Tokens = { readonly access_token: string; readonly refresh_token: string };

type Form = Readonly<Record<string, string>>;

export class User {
  readonly #issuer: string;
  readonly #username: string;
  readonly #browser: Browser;

  constructor({ issuer }: Service, index: number, browser = new Browser(issuer)) {
    this.#issuer = issuer;
    this.#username = personName(index);
    this.#browser = browser;
  }

  /** Sends the password in the first flow; after that the browser has a session and is asked only for consent. */
  async flow(): Promise<Tokens> {
    return exchanged(this.#issuer, await this.code());
  }

  /** The request that the app sends at the end of a flow to get its tokens. */
  async code(): Promise<Form> {
    const verifier = random();
    let page = await this.#authorize(verifier);
    if (page.text.includes('/login"')) page = await this.#browser.submit(page, '/login', this.#typed());
    page = await this.#browser.submit(page, '/consent');
    const code = new URL(page.url).searchParams.get('code') ?? '';
    return {
      grant_type: 'authorization_code',
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
    };
  }

  /** Opens the sign-in page; the resolved function sends the password and resolves the status of the answer. */
  async openLogin(): Promise<() => Promise<number>> {
    const page = await this.#authorize(random());
    const form = formOf(page, '/login');
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const body = new URLSearchParams({ ...form.fields, ...this.#typed() }).toString();
    return async () => (await this.#browser.request(form.action, { method: 'POST', headers, body })).status;
  }

  #typed = () => ({ username: this.#username, password: PASSWORD });

  async #authorize(verifier: string) {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: 'web',
      redirect_uri: REDIRECT_URI,
      scope: `openid email profile offline_access ${SCOPE}`,
      prompt: 'consent',
      state: random(),
      nonce: random(),
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return this.#browser.open(`${this.#issuer}/oauth/authorize?${query.toString()}`);
  }
}

export const refreshed = (issuer: string, refresh_token: string): Promise<Tokens> =>
  exchanged(issuer, { grant_type: 'refresh_token', refresh_token });

export async function exchanged(issuer: string, form: Form): Promise<Tokens> {
  const body = new URLSearchParams(form).toString();
  return JSON.parse(await ask({ url: `${issuer}/oauth/token`, headers: WEB, body })) as Tokens;
}

const random = () => randomBytes(32).toString('base64url');

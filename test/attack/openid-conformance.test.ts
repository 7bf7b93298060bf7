// CF-16: what the modules of the OpenID Foundation's conformance suite (basic, config and RP-initiated logout plans) ask
// for, under their names. The suite itself runs elsewhere; these run everywhere.
import { decodeJwt } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { takeCode, type Ticket } from '../world/app.ts';
import { authorizationUrl, VERIFIER } from '../world/authorization-request.ts';
import type { Browser } from '../world/browser.ts';
import { newBrowser, redirectOf } from '../world/person.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { type Parameters, post, textOf } from '../world/requests.ts';
import { redeem } from '../world/token-endpoint.ts';
import { NEVER } from '../world/turns.ts';
import { GENEROUS, PASSWORDS, PEOPLE } from '../world/world.ts';
import { useWorld } from '../world/each-store.ts';

const world = useWorld({ rotationTimer: NEVER, config: GENEROUS });
afterEach(() => void vi.useRealTimers());

/** Sends a request that needs no page, from a browser that has signed in; returns the parameters of its redirect. */
async function redirectSilently(browser: Browser, changes: Parameters = {}) {
  const page = await browser.request(authorizationUrl(world(), { scope: 'openid', ...changes }));
  expect(page.status).toBe(303);
  return redirectOf(page);
}

/** The claims of the ID token that the code of a redirect gives. */
async function claimsOf(ticket: Ticket, code: string | undefined) {
  const answer = await redeem(world(), { ...ticket, code: code ?? '', verifier: VERIFIER });
  expect(answer.status, answer.text).toBe(200);
  return decodeJwt(textOf(answer, 'id_token'));
}

/** Opens a page that asks for a password, and returns it with the result of that sign-in. */
async function signInAgain(ticket: Ticket, changes: Parameters, person: keyof typeof PASSWORDS = 'alice') {
  const page = await ticket.browser.open(authorizationUrl(world(), { scope: 'openid', ...changes }));
  expect(page.text).toContain('name="password"');
  const done = await ticket.browser.submit(page, '/login', { username: person, password: PASSWORDS[person] });
  return { page, done };
}

describe('CF-16: basic plan', () => {
  it('EnsurePostRequestSucceeds: an authorization request by POST', async () => {
    const form = new URL(authorizationUrl(world())).search.slice(1);
    const init = {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: form,
    };
    const page = await newBrowser(world()).open(`${world().issuer}/oauth/authorize`, init);
    expect(page.status).toBe(200);
    expect(page.text).toContain('name="password"');
    const evil = { ...init, body: form.replace('app.example', 'evil.example') };
    const refused = await newBrowser(world()).open(`${world().issuer}/oauth/authorize`, evil);
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
  });

  it('EnsureRequestWithAcrValuesSucceeds, and its answer claims nothing that was not done', async () => {
    const ticket = await takeCode(world(), { scope: 'openid', parameters: { acr_values: '1 2' } });
    expect(decodeJwt(textOf(await redeem(world(), ticket), 'id_token'))).not.toHaveProperty('acr');
  });

  it('PromptNoneLoggedIn: a code for the same person and the same sign-in', async () => {
    const ticket = await takeCode(world(), { scope: 'openid', parameters: { max_age: '10000' } });
    const first = decodeJwt(textOf(await redeem(world(), ticket), 'id_token'));
    const { query } = await redirectSilently(ticket.browser, { prompt: 'none', max_age: '10000' });
    const second = await claimsOf(ticket, query['code']);
    expect([second.sub, second['auth_time']]).toEqual([first.sub, first['auth_time']]);
  });

  it('PromptLogin: asks although somebody is signed in, and the sign-in is newer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] });
    const ticket = await takeCode(world(), { scope: 'openid', parameters: { max_age: '10000' } });
    const first = decodeJwt(textOf(await redeem(world(), ticket), 'id_token'));
    vi.setSystemTime(Date.now() + 5000);
    const { done } = await signInAgain(ticket, { prompt: 'login', max_age: '10000' });
    const second = await claimsOf(ticket, new URL(done.url).searchParams.get('code') ?? '');
    expect(second.sub).toBe(first.sub);
    expect(Number(second['auth_time']) - Number(first['auth_time'])).toBeGreaterThanOrEqual(5);
  });

  it('IdTokenHint: the person of the hint redirectSilently, and nobody else', async () => {
    const ticket = await takeCode(world(), { scope: 'openid' });
    const hint = textOf(await redeem(world(), ticket), 'id_token');
    const { query } = await redirectSilently(ticket.browser, { prompt: 'none', id_token_hint: hint });
    expect((await claimsOf(ticket, query['code'])).sub).toBe(PEOPLE.alice);
    const bob = await takeCode(world(), { scope: 'openid', person: 'bob' });
    const other = await redirectSilently(bob.browser, { prompt: 'none', id_token_hint: hint });
    expect(other.query['error']).toBe('login_required');
    expect(other.query).not.toHaveProperty('code');
    const forged = await redirectSilently(ticket.browser, {
      prompt: 'none',
      id_token_hint: `${hint.slice(0, -8)}AAAAAAAA`,
    });
    expect(forged.query['error']).toBe('invalid_request');
  });

  it('LoginHint: is filled in, and escaped', async () => {
    for (const hint of ['alice', '"><script>alert(1)</script>', `a${'b'.repeat(8000)}`]) {
      const page = await newBrowser(world()).open(authorizationUrl(world(), { login_hint: hint }));
      expect(page.status).toBe(200);
      expect(page.text).not.toContain('<script>alert');
      if (hint === 'alice') expect(page.text).toContain('value="alice"');
      expect(page.text.length).toBeLessThan(8000);
    }
  });

  it('UiLocales, ClaimsLocales, DisplayPage, DisplayPopup: known or not, no error', async () => {
    for (const parameters of [
      { ui_locales: 'se' },
      { ui_locales: '../../etc/passwd' },
      { claims_locales: 'se' },
      { display: 'page' },
      { display: 'popup' },
      { display: 'x'.repeat(2000) },
    ]) {
      const page = await newBrowser(world()).open(authorizationUrl(world(), parameters));
      expect(page.status, JSON.stringify(parameters)).toBe(200);
      expect(page.text).toContain('name="password"');
    }
  });

  it('UserinfoGet, UserinfoPostHeader, UserinfoPostBody', async () => {
    const answer = await redeem(world(), await takeCode(world(), { scope: 'openid email' }));
    const token = textOf(answer, 'access_token');
    const answers = [
      await userinfo(world(), token),
      await post(world(), '/oauth/userinfo', '', { authorization: `Bearer ${token}` }),
      await post(world(), '/oauth/userinfo', { access_token: token }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, body['sub'], body['email']]).toEqual([200, PEOPLE.alice, 'alice@example.com']);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    }
  });
});

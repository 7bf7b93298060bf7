// Users, apps and machines that work on many nodes: they sign in, use codes and refresh tokens, sometimes twice at once,
// revoke and introspect tokens. The history records all of it.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  AUTHORIZATION_REQUEST,
  authorizationUrl,
  DEFAULT_SCOPE,
  VERIFIER,
} from '../world/authorization-request.ts';
import { finishPages, type User } from '../world/person.ts';
import { type Answer, post } from '../world/requests.ts';
import { basic } from '../world/token-endpoint.ts';
import { BalancedBrowser, type Balancer, CutOff } from './balancer.ts';
import { CROWD } from './fleet.ts';
import type { History, Operation, Outcome } from './history.ts';

/** The share of one-time values that are used twice at once. */
const TWICE = 0.08;
const ROUNDS = 5;

type Named = { readonly subject: string; readonly family: string };
type Form = Readonly<Record<string, string>>;

export type Clients = {
  /** Repeats the flows of one user and their app. */
  live(isOver: () => boolean): Promise<void>;
  /** Repeats the requests of one machine. */
  work(isOver: () => boolean): Promise<void>;
  /** Whether the token is active. */
  introspect(token: string, family: string): Promise<unknown>;
};

export function createClients(issuer: string, balancer: Balancer, history: History): Clients {
  let [families, lives] = [0, 0];
  const newFamily = () => `family ${(families += 1)}`;

  async function see(operation: Operation, named: Named, path: string, form: Form, as: Caller) {
    const beganAt = performance.now();
    const answer = await balancer.send((base) => post({ base }, path, form, { authorization: basic(as) }));
    const outcome = outcomeOf(operation, answer);
    history.add({ ...named, operation, outcome, beganAt, endedAt: performance.now() });
    if (outcome === 'unknown') await sleep(100);
    return { answer, outcome };
  }

  async function seeInTurn(...args: Parameters<typeof see>) {
    await balancer.turn();
    return see(...args);
  }

  const introspect = (token: string, family: string) =>
    seeInTurn('introspect', { subject: token, family }, '/oauth/introspect', { token }, 'rs1');

  /** Revokes as RFC 7009 §2.2.1 says: on 503 the client repeats. From then on no answer may call `asked` active. */
  async function revoke(token: string, family: string, as: Caller, asked: string): Promise<void> {
    for (let round = 0; round < 60; round += 1) {
      const { outcome } = await seeInTurn(
        'revoke',
        { subject: token, family },
        '/oauth/revoke',
        { token },
        as,
      );
      if (outcome !== 'unknown') break;
    }
    for (let round = 0; round < 6; round += 1) {
      await introspect(asked, family);
      await sleep(50);
    }
  }

  /** Uses the value once, or now and then twice at once. */
  async function spend(
    operation: 'redeem' | 'refresh',
    named: Named,
    form: Form,
  ): Promise<Answer | undefined> {
    const times = Math.random() < TWICE ? 2 : 1;
    await balancer.turn();
    const answers = await Promise.all(
      Array.from({ length: times }, () => see(operation, named, '/oauth/token', form, 'web')),
    );
    return answers.find(({ outcome }) => outcome === 'done')?.answer;
  }

  async function signIn(family: string, person: User): Promise<string | undefined> {
    const state = randomBytes(8).toString('hex');
    const url = authorizationUrl({ issuer }, { scope: DEFAULT_SCOPE, prompt: 'consent', state });
    const browser = new BalancedBrowser(issuer, balancer);
    const beganAt = performance.now();
    let [outcome, subject]: [Outcome, string] = ['unknown', 'cut off'];
    try {
      const first = await browser.open(url);
      const page = await finishPages(browser, first, person);
      subject = new URL(page.url).searchParams.get('code') ?? `${page.status} ${titleIn(page.text)}`;
      if (page.status !== 503) outcome = page.url.includes('code=') ? 'done' : 'refused';
    } catch (error) {
      if (!(error instanceof CutOff)) throw error;
    }
    history.add({ operation: 'sign in', subject, family, outcome, beganAt, endedAt: performance.now() });
    if (outcome === 'unknown') await sleep(100);
    return outcome === 'done' ? subject : undefined;
  }

  async function liveOnce(person: User, isOver: () => boolean): Promise<void> {
    const family = newFamily();
    const code = await signIn(family, person);
    if (code === undefined) return;
    const exchange = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: AUTHORIZATION_REQUEST.redirect_uri,
      code_verifier: VERIFIER,
    };
    let answer = await spend('redeem', { subject: code, family }, exchange);
    const access = String(answer?.body['access_token']);
    for (let round = 0; round < ROUNDS && answer !== undefined && !isOver(); round += 1) {
      const token = String(answer.body['refresh_token']);
      await introspect(access, family);
      const form = { grant_type: 'refresh_token', refresh_token: token };
      answer = await spend('refresh', { subject: token, family }, form);
    }
    if (answer !== undefined) await revoke(String(answer.body['refresh_token']), family, 'web', access);
  }

  async function workOnce(): Promise<void> {
    const family = newFamily();
    const form = { grant_type: 'client_credentials', scope: 'reports.read' };
    const { answer } = await seeInTurn(
      'machine token',
      { subject: family, family },
      '/oauth/token',
      form,
      'svc',
    );
    const token = answer?.body['access_token'];
    if (typeof token !== 'string') return;
    for (let round = 0; round < ROUNDS; round += 1) await introspect(token, family);
    if (Math.random() < 0.3) await revoke(token, family, 'svc', token);
  }

  return {
    introspect,
    async live(isOver) {
      const person: User = `person${(lives += 1)}`;
      if (lives > CROWD) throw new RangeError('there are not so many people');
      while (!isOver()) await liveOnce(person, isOver);
    },
    async work(isOver) {
      while (!isOver()) await workOnce();
    },
  };
}

type Caller = Parameters<typeof basic>[0];

function outcomeOf(operation: Operation, answer: Answer | undefined): Outcome {
  if (answer === undefined || answer.status >= 500) return 'unknown';
  if (answer.status !== 200) return 'refused';
  return operation === 'introspect' && answer.body['active'] !== true ? 'refused' : 'done';
}

function titleIn(page: string): string {
  return /<title>([^<]*)/.exec(page)?.[1] ?? '';
}

// People and apps under way on many nodes: they sign in, use codes and refresh tokens, sometimes twice at once, revoke and
// ask. Owns what they do; every answer that is no answer (5xx but 503 with Retry-After) is a complaint.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Answer } from '../world/flows.ts';
import { authorize, basic, post, redeem } from '../world/flows.ts';
import type { World } from '../world/world.ts';
import type { History, Operation, Outcome } from './history.ts';

type Ask = (node: World) => Promise<Answer>;

export type Clients = {
  /** Ends when `isOver` says so. */
  run(isOver: () => boolean): Promise<void>;
  readonly complaints: readonly string[];
};

export function createClients(nodes: readonly World[], history: History): Clients {
  const complaints: string[] = [];
  let families = 0;
  const anyNode = () => nodes[Math.floor(Math.random() * nodes.length)] ?? never();

  async function see(
    operation: Operation,
    { subject, family }: { readonly subject: string; readonly family: string },
    ask: Ask,
  ): Promise<Answer | undefined> {
    const beganAt = performance.now();
    const answer = await ask(anyNode()).catch(() => undefined);
    const outcome = outcomeOf(operation, answer);
    if (answer !== undefined && answer.status >= 500) {
      const isHonest = answer.status === 503 && answer.headers.has('retry-after');
      if (!isHonest) complaints.push(`${operation}: ${answer.status} ${answer.text.slice(0, 200)}`);
    }
    history.add({ operation, subject, family, beganAt, endedAt: performance.now(), outcome });
    if (outcome === 'unknown') await sleep(100);
    return outcome === 'done' ? answer : undefined;
  }

  /** Once, or now and then twice at once. */
  async function spend(
    operation: Operation,
    subject: string,
    family: string,
    ask: Ask,
  ): Promise<Answer | undefined> {
    const times = Math.random() < 0.2 ? 2 : 1;
    const named = { subject: `${operation} ${subject}`, family };
    const answers = await Promise.all(Array.from({ length: times }, () => see(operation, named, ask)));
    return answers.find((answer) => answer !== undefined);
  }

  async function live(isOver: () => boolean): Promise<void> {
    families += 1;
    const family = `family ${families}`;
    const authorized = await authorize(anyNode()).catch(() => undefined);
    const code = authorized?.callback.searchParams.get('code');
    if (authorized === undefined || !code) {
      await sleep(100);
      return;
    }
    let answer = await spend('redeem', code, family, (node) => redeem(node, authorized));
    const access = String(answer?.body['access_token']);
    for (let round = 0; round < 6 && answer !== undefined && !isOver(); round += 1) {
      const token = String(answer.body['refresh_token']);
      await see('introspect', { subject: access, family }, asking(access));
      answer = await spend('refresh', token, family, (node) =>
        post(node, '/oauth/token', { grant_type: 'refresh_token', refresh_token: token }, asWeb()),
      );
    }
    if (answer === undefined) return;
    const last = String(answer.body['refresh_token']);
    const revoke: Ask = (node) => post(node, '/oauth/revoke', { token: last }, asWeb());
    // As RFC 7009 §2.2.1 has it: on 503 the client repeats.
    for (let round = 0; round < 40; round += 1) {
      if ((await see('revoke', { subject: last, family }, revoke)) !== undefined) break;
    }
    for (let round = 0; round < 10; round += 1) {
      await see('introspect', { subject: access, family }, asking(access));
      await sleep(50);
    }
  }

  return {
    complaints,
    async run(isOver) {
      while (!isOver()) await live(isOver);
    },
  };
}

const asWeb = () => ({ authorization: basic('web') });

function asking(token: string): Ask {
  return (node) => post(node, '/oauth/introspect', { token }, { authorization: basic('rs1') });
}

function outcomeOf(operation: Operation, answer: Answer | undefined): Outcome {
  if (answer === undefined || answer.status >= 500) return 'unknown';
  if (answer.status !== 200) return 'refused';
  return operation === 'introspect' && answer.body['active'] !== true ? 'refused' : 'done';
}

function never(): never {
  throw new Error('no node');
}

// A moderate load of machine token requests from callers that keep their connections, and the outcome of each request.
import http from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { MACHINE_MS } from './clock.ts';
import { basic } from './token-endpoint.ts';
import type { World } from './world.ts';

const BODY = 'grant_type=client_credentials';
/** How long a caller waits for an answer. Milliseconds. */
const PATIENCE_MS = 5000 + MACHINE_MS;

/** refused: there was no connection, so no request either. Any outcome besides 200 and refused is a lost request. */
type Fate = '200' | 'refused' | (string & {});

export type Caller = {
  /** All outcomes except 200 and refused. */
  readonly lost: string[];
  answered: number;
  refused: number;
  lastAnswerAt: number;
};

export type Load = {
  readonly callers: readonly Caller[];
  /** Stops the load; resolves when the last request has its outcome. */
  stop(): Promise<void>;
};

/** Starts the callers `everyMs` apart. Each has one connection at a time, and sends a request `everyMs` after the last answer. */
export function startLoad(
  world: Pick<World, 'base'>,
  { callers, everyMs }: { callers: number; everyMs: number },
): Load {
  const stopped = new AbortController();
  const all = Array.from({ length: callers }, (): Caller => ({
    lost: [],
    answered: 0,
    refused: 0,
    lastAnswerAt: 0,
  }));
  const running = all.map(async (caller, place) => {
    await delay(place * everyMs);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    while (!stopped.signal.aborted) {
      const fate = await request(world, agent);
      if (fate === '200')
        Object.assign(caller, { answered: caller.answered + 1, lastAnswerAt: performance.now() });
      else if (fate === 'refused') caller.refused += 1;
      else caller.lost.push(fate);
      await delay(everyMs, undefined, { signal: stopped.signal }).catch(() => undefined);
    }
    agent.destroy();
  });
  return {
    callers: all,
    async stop() {
      stopped.abort();
      await Promise.all(running);
    },
  };
}

async function request({ base }: Pick<World, 'base'>, agent: http.Agent): Promise<Fate> {
  return new Promise((resolve) => {
    const headers = {
      authorization: basic('svc'),
      'content-type': 'application/x-www-form-urlencoded',
      'content-length': BODY.length,
    };
    const options = { method: 'POST', agent, headers, timeout: PATIENCE_MS };
    const sent = http.request(`${base}/oauth/token`, options, (response) => {
      response.on('error', (error) => resolve(`cut in the answer: ${error.message}`));
      response.on('end', () => resolve(String(response.statusCode))).resume();
    });
    sent.on('timeout', () => sent.destroy(new Error('no answer')));
    sent.on('error', (error: NodeJS.ErrnoException) =>
      resolve(
        error.code === 'ECONNREFUSED'
          ? 'refused'
          : `${error.code ?? error.message}, ${sent.reusedSocket ? 'kept' : 'new'} connection`,
      ),
    );
    sent.end(BODY);
  });
}

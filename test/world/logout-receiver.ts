// The logout endpoints of apps (OIDC Back-Channel Logout), on a real host of this machine.
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from 'jose';
import { startTlsServer, type TlsServer } from './tls-server.ts';
import { fold } from '../../src/features/index.ts';
import { worldClients } from './world.ts';

export type ReceivedLogout = {
  /** Of the request: `/web`. */
  readonly path: string;
  /** Epoch milliseconds, by the clock that a test moves. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  /** Names of the form's fields. */
  readonly fields: readonly string[];
  readonly token: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
};

/** False: no app is notified of anything, because the service can't do that. */
export const NOTIFIES = 'backchannel_logout_uri' in fold('client');

/** Clients of the world with these logout endpoints, by the client's id. */
export const notifiedClients = (uris: Readonly<Record<string, string>>) =>
  worldClients(
    NOTIFIES
      ? Object.fromEntries(Object.entries(uris).map(([id, uri]) => [id, { backchannel_logout_uri: uri }]))
      : {},
  );

type Answer = (response: ServerResponse) => void;

export type LogoutReceiver = Omit<TlsServer, 'stop'> & {
  /** What came for a session, in order. */
  of(sid: unknown): readonly ReceivedLogout[];
  /** The same, once that is so much. */
  wait(sid: unknown, count?: number): Promise<readonly ReceivedLogout[]>;
  /** What an app does with the next logout tokens; without a function it is well. */
  answer(path: string, answer?: Answer): void;
  /** Clients of the world with a logout endpoint here: `web` at `/web`. */
  clients(...ids: readonly string[]): ReturnType<typeof worldClients>;
  /** What the service has to know to reach this host. */
  readonly outgoing: object;
  stop(): void;
};

const DONE: Answer = (response) => response.end();

export async function startLogoutReceiver(): Promise<LogoutReceiver> {
  const received: ReceivedLogout[] = [];
  const arrivals = new EventTarget();
  const answers = new Map<string, Answer>();
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      const path = request.url ?? '';
      const form = new URLSearchParams(body);
      const token = form.get('logout_token') ?? '';
      received.push({
        path,
        at: Date.now(),
        headers: request.headers,
        fields: [...form.keys()],
        token,
        header: decodeProtectedHeader(token),
        claims: decodeJwt(token),
      });
      arrivals.dispatchEvent(new Event('arrival'));
      (answers.get(path) ?? DONE)(response);
    });
  };
  const server = await startTlsServer(listener);
  const of = (sid: unknown) => received.filter(({ claims }) => claims['sid'] === sid);
  return {
    ...server,
    of,
    async wait(sid, count = 1) {
      while (of(sid).length < count) {
        await new Promise((resolve) => arrivals.addEventListener('arrival', resolve, { once: true }));
      }
      return of(sid);
    },
    answer: (path, answer = DONE) => void answers.set(path, answer),
    clients: (...ids) => notifiedClients(Object.fromEntries(ids.map((id) => [id, `${server.origin}/${id}`]))),
    outgoing: { internal_hosts: ['localhost'] },
  };
}

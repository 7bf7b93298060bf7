// The logout endpoints of apps (OIDC Back-Channel Logout), on a real host of this machine.
import type { IncomingHttpHeaders, RequestListener, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { decodeJwt, decodeProtectedHeader, type JWTPayload, type ProtectedHeaderParameters } from 'jose';
import { startTlsServer, type TlsServer } from './tls-server.ts';
import { fold } from '../../src/features/index.ts';
import { worldClients } from './world.ts';

export type ReceivedLogout = {
  /** Path of the request, such as `/web`. */
  readonly path: string;
  /** Epoch milliseconds, by the clock that the test moves. */
  readonly at: number;
  readonly headers: IncomingHttpHeaders;
  /** Names of the form's fields. */
  readonly fields: readonly string[];
  readonly token: string;
  readonly header: ProtectedHeaderParameters;
  readonly claims: JWTPayload;
};

/** False if this source has no back-channel logout: then no app is notified. */
export const NOTIFIES = 'backchannel_logout_uri' in fold('client');

/** Clients of the world with these logout endpoints, by client id. */
export const notifiedClients = (uris: Readonly<Record<string, string>>) =>
  worldClients(
    NOTIFIES
      ? Object.fromEntries(Object.entries(uris).map(([id, uri]) => [id, { backchannel_logout_uri: uri }]))
      : {},
  );

type Answer = (response: ServerResponse) => void;

export type LogoutReceiver = Omit<TlsServer, 'stop'> & {
  /** The logout tokens received for a session, in order. */
  of(sid: unknown): readonly ReceivedLogout[];
  /** Resolves the same as `of` when at least `count` have arrived. */
  wait(sid: unknown, count?: number): Promise<readonly ReceivedLogout[]>;
  /** Sets how an app answers the next logout tokens; without a function it accepts them. */
  answer(path: string, answer?: Answer): void;
  /** Clients of the world with a logout endpoint here: `web` at `/web`. */
  clients(...ids: readonly string[]): ReturnType<typeof worldClients>;
  /** The settings with which the service reaches this host. */
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

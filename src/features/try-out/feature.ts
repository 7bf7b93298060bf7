// The try-out of a fresh installation: a sign-in as the shipped demo client, on the management listener.
import {
  type Beginning,
  DEMO_CALLBACK_PATH,
  DEMO_CLIENT_ID,
  DEMO_CLIENT_SECRET,
  DEMO_PASSWORD,
  DEMO_PASSWORD_HASH,
  DEMO_PATH,
  isDemoSecret,
} from '../../config/demo.ts';
import type { SecretHash } from '../../config/secret-strength.ts';
import type { Declaration } from '../feature.ts';
import { tryModel } from './models.ts';

type DemoClient = { clientId: string; secrets: readonly SecretHash[]; redirectUris: readonly string[] };
type DemoSettings<C = DemoClient> = {
  readonly clients: readonly C[];
  readonly users: readonly Readonly<{ username: string; passwordHash?: string | undefined }>[];
  readonly workers?: number;
  readonly management: { readonly port: number };
};

const demoClientOf = <C extends DemoClient>({ clients }: DemoSettings<C>) =>
  clients.find(({ clientId, secrets }) => clientId === DEMO_CLIENT_ID && secrets.some(isDemoSecret));

/** The shipped demo client with its callback on the management listener, if it is still there. */
export function findDemo<C extends DemoClient>(config: DemoSettings<C>) {
  const { management, workers = 1 } = config;
  if (workers > 1) return undefined;
  const client = demoClientOf(config);
  const callback = client?.redirectUris.find((uri) => {
    const { pathname, port } = new URL(uri);
    return pathname === DEMO_CALLBACK_PATH && port === String(management.port);
  });
  return client && callback !== undefined ? { client, callback } : undefined;
}

/** The shipped demo user with its public password, if it is still there. */
export function demoUserOf({ users }: DemoSettings) {
  const user = users.find(({ passwordHash }) => passwordHash === DEMO_PASSWORD_HASH);
  return user && { username: user.username, password: DEMO_PASSWORD };
}

const whyOff = ({ workers = 1, management }: DemoSettings) =>
  workers > 1
    ? 'it needs workers: 1'
    : `add http://localhost:${management.port}${DEMO_CALLBACK_PATH} to redirect_uris of the client ${DEMO_CLIENT_ID}`;

function begin(config: DemoSettings): Beginning | undefined {
  const demo = findDemo(config);
  if (!demo) return demoClientOf(config) && { facts: [`try it       off: ${whyOff(config)}`] };
  const url = new URL(DEMO_PATH, demo.callback).href;
  const user = demoUserOf(config);
  const facts = [
    `demo client  ${demo.client.clientId}  secret ${DEMO_CLIENT_SECRET}`,
    ...(user ? [`demo user  ${user.username}  password ${user.password}`] : []),
    `try it       ${url}`,
  ];
  return { url, facts };
}

export const tryOut = {
  name: 'try-out',
  pages: { try: tryModel },
  begin: [begin],
  isOn: (config: DemoSettings) => findDemo(config) !== undefined,
} as const satisfies Declaration;

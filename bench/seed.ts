// Live grants, written straight into a store before its service starts: by the service's own store and adapter, so they
// have its record form, and without HTTP, so that a hundred thousand take seconds. Each is what one person's sign-in leaves:
// session, grant, access token, refresh token.
import { randomBytes } from 'node:crypto';
import { loadConfig } from '../src/config/load.ts';
import { createAdapter } from '../src/engine/adapter.ts';
import { openKeys } from '../src/keys/open-keys.ts';
import { openStore } from '../src/store/open.ts';
import { personId, RESOURCE, SCOPE } from './names.ts';
import { POSTERN_ENV } from './postern.ts';

const AT_ONCE = 4000;
const DAY = 86_400;
const OIDC_SCOPE = 'openid email profile offline_access';

/** Resolves how many seconds it took. */
export async function seedGrants(configFile: string, count: number): Promise<number> {
  const startedAt = performance.now();
  const config = await loadConfig(configFile, { env: { ...process.env, ...POSTERN_ENV } });
  const store = await openStore(config.store, Date.now);
  try {
    const { hash } = await openKeys(config, store, Date.now);
    const parts = { records: store.records, hash, tombstoneSeconds: 90 * DAY };
    const save = (model: string, id: string, payload: object, seconds: number) =>
      createAdapter(model, parts).upsert(
        id,
        { kind: model, jti: id, ...times(seconds), ...payload },
        seconds,
      );
    for (let start = 0; start < count; start += AT_ONCE) {
      const size = Math.min(AT_ONCE, count - start);
      await Promise.all(Array.from({ length: size }, (_, index) => seedOne(save, personId(start + index))));
    }
  } finally {
    await store.close();
  }
  return (performance.now() - startedAt) / 1000;
}

type Save = (model: string, id: string, payload: object, seconds: number) => Promise<unknown>;

async function seedOne(save: Save, accountId: string): Promise<void> {
  const [grantId, session, uid, access, refresh] = [
    randomId(),
    randomId(),
    randomId(),
    randomId(),
    randomId(),
  ];
  const ofPerson = { accountId, clientId: 'web', grantId, gty: 'authorization_code', sessionUid: uid };
  const now = Math.floor(Date.now() / 1000);
  await Promise.all([
    save(
      'Session',
      session,
      { uid, accountId, loginTs: now, authorizations: { web: { sid: randomId(), grantId } } },
      14 * DAY,
    ),
    save(
      'Grant',
      grantId,
      { accountId, clientId: 'web', openid: { scope: OIDC_SCOPE }, resources: { [RESOURCE]: SCOPE } },
      14 * DAY,
    ),
    save(
      'AccessToken',
      access,
      { ...ofPerson, scope: `${OIDC_SCOPE} ${SCOPE}`, claims: {}, extra: {} },
      3600,
    ),
    save(
      'RefreshToken',
      refresh,
      {
        ...ofPerson,
        scope: `${OIDC_SCOPE} ${SCOPE}`,
        authTime: now,
        iiat: now,
        rotations: 0,
        nonce: randomId(),
      },
      14 * DAY,
    ),
  ]);
}

function times(seconds: number) {
  const iat = Math.floor(Date.now() / 1000);
  return { iat, exp: iat + seconds };
}

function randomId(): string {
  return randomBytes(32).toString('base64url');
}

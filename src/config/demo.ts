// The demo client, service and user, whose secrets are public. They are rejected unless the issuer is on localhost.
import { digestOf, type SecretHash } from './secret-strength.ts';

export const DEMO_CLIENT_ID = 'demo';

export const DEMO_CLIENT_SECRET = 'postern-demo-secret-4vXq7Lw2Rk9Tz6Nc8Hb';
const DEMO_DIGEST = digestOf(DEMO_CLIENT_SECRET);

export const isDemoSecret = ({ digest }: SecretHash) => digest.equals(DEMO_DIGEST);

export const DEMO_PASSWORD = 'postern-demo';
export const DEMO_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$R6d0hAAcNdKjyuCiwB9l1w$rsSIWblkFBlCeY1uNSDsg+cSatFmau1/WMvaKPK1nIA';

/** The paths of the demo client, on the management listener. */
export const DEMO_PATH = '/try';
export const DEMO_CALLBACK_PATH = '/try/callback';

/** The first steps for a new administrator: a page, if there is one, and the lines that `serve` prints at startup. */
export type Beginning = Readonly<{ url?: string; facts: readonly string[] }>;

// The demo client, service and user, whose secrets are public. Where the issuer isn't this
// machine, they are refused.

export const DEMO_CLIENT_ID = 'demo';

export const DEMO_CLIENT_SECRET = 'postern-demo-secret-4vXq7Lw2Rk9Tz6Nc8Hb';

export const DEMO_PASSWORD = 'postern-demo';
export const DEMO_PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$R6d0hAAcNdKjyuCiwB9l1w$rsSIWblkFBlCeY1uNSDsg+cSatFmau1/WMvaKPK1nIA';

/** Where the link that the start prints leads, below the management address. */
export const DEMO_TRY_PATH = '/try';
export const DEMO_CALLBACK_PATH = '/try/callback';

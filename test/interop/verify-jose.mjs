// jose, as an API would verify access tokens.
import { createRemoteJWKSet, jwtVerify } from 'jose';
import { forge, machineToken, refuses } from './machine-token.ts';
import { check, settings, version, versionOf } from './report.ts';

version(versionOf('jose'));
const { issuer, api } = settings;
const token = await machineToken();

const keys = createRemoteJWKSet(new URL(`${issuer}/oauth/jwks.json`));
const verify = (jwt, audience = api) =>
  jwtVerify(jwt, keys, { issuer, audience, typ: 'at+jwt', algorithms: ['RS256'] });

const { payload } = await verify(token);
check(payload.scope === 'reports.read', 'verifies a token', payload);
check(await refuses(() => verify(forge(token))), 'refuses a forged one');
check(await refuses(() => verify(token, 'https://other.example')), 'refuses another audience');

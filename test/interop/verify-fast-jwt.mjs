// fast-jwt, with a key from the published set.
import { createPublicKey } from 'node:crypto';
import { createVerifier } from 'fast-jwt';
import { forge, machineToken, refuses } from './machine-token.ts';
import { check, settings, version, versionOf } from './report.ts';

version(versionOf('fast-jwt'));
const { issuer, api } = settings;
const token = await machineToken();

async function findKey({ header }) {
  const response = await fetch(`${issuer}/oauth/jwks.json`);
  const { keys } = await response.json();
  const jwk = keys.find(({ kid }) => kid === header.kid);
  return createPublicKey({ key: jwk, format: 'jwk' }).export({ type: 'spki', format: 'pem' });
}
const verifierFor = (audience) =>
  createVerifier({ key: findKey, algorithms: ['RS256'], allowedIss: issuer, allowedAud: audience });
const verify = verifierFor(api);

const payload = await verify(token);
check(payload.scope === 'reports.read', 'verifies a token', payload);
check(await refuses(() => verify(forge(token))), 'refuses a forged one');
check(await refuses(() => verifierFor('https://other.example')(token)), 'refuses another audience');

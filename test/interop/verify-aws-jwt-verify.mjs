// aws-jwt-verify, whose JwtVerifier takes tokens of any issuer.
import { JwtVerifier } from 'aws-jwt-verify';
import { forge, machineToken, refuses } from './machine-token.ts';
import { check, settings, version, versionOf } from './report.ts';

version(versionOf('aws-jwt-verify'));
const { issuer, api } = settings;
const token = await machineToken();

const verifierFor = (audience) =>
  JwtVerifier.create({ issuer, audience, jwksUri: `${issuer}/oauth/jwks.json` });
const verifier = verifierFor(api);

const payload = await verifier.verify(token);
check(payload.scope === 'reports.read', 'verifies a token', payload);
check(await refuses(() => verifier.verify(forge(token))), 'refuses a forged one');
check(await refuses(() => verifierFor('https://other.example').verify(token)), 'refuses another audience');

// jsonwebtoken with keys by jwks-rsa, as an API would verify access tokens.
import jwt from 'jsonwebtoken';
import { JwksClient } from 'jwks-rsa';
import { forge, machineToken, refuses } from './machine-token.ts';
import { check, settings, version, versionOf } from './report.ts';

version(`${versionOf('jwks-rsa')}, jsonwebtoken ${versionOf('jsonwebtoken')}`);
const { issuer, api } = settings;
const token = await machineToken();

const client = new JwksClient({ jwksUri: `${issuer}/oauth/jwks.json`, cache: true, rateLimit: true });
const findKey = (header, done) =>
  client.getSigningKey(header.kid, (error, key) => done(error, key?.getPublicKey()));
const verify = (given, audience = api) =>
  new Promise((resolve, reject) => {
    jwt.verify(given, findKey, { issuer, audience, algorithms: ['RS256'] }, (error, payload) =>
      error ? reject(error) : resolve(payload),
    );
  });

const payload = await verify(token);
check(payload.scope === 'reports.read', 'verifies a token', payload);
check(await refuses(() => verify(forge(token))), 'refuses a forged one');
check(await refuses(() => verify(token, 'https://other.example')), 'refuses another audience');

// express-oauth2-jwt-bearer: an API in Express that takes our access tokens, strictly as RFC 9068 has them.
import { once } from 'node:events';
import express from 'express';
import { auth, requiredScopes } from 'express-oauth2-jwt-bearer';
import { forge, machineToken } from './machine-token.ts';
import { check, settings, version, versionOf } from './report.ts';

version(versionOf('express-oauth2-jwt-bearer'));
const { issuer, api } = settings;
const token = await machineToken();

const app = express();
app.use(auth({ issuerBaseURL: issuer, audience: api, strict: true, tokenSigningAlg: 'RS256' }));
app.get('/reports', requiredScopes('reports.read'), (req, res) => res.json(req.auth.payload));
app.get('/secret', requiredScopes('reports.write'), (_req, res) => res.json({}));
app.use((error, _req, res, _next) => res.status(error.status ?? 500).json({ error: String(error) }));
const server = app.listen(0, '127.0.0.1');
await once(server, 'listening');

const ask = (path, jwt) =>
  fetch(`http://127.0.0.1:${server.address().port}${path}`, {
    headers: { authorization: `Bearer ${jwt}` },
  });
const good = await ask('/reports', token);
check(good.status === 200, 'verifies a token by discovery, strict', await good.text());
check((await ask('/reports', forge(token))).status === 401, 'refuses a forged one');
check((await ask('/secret', token)).status === 403, 'refuses a scope that is missing');
server.close();

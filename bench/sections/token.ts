// Machine tokens: the service on both stores, in one process and in two, against raw signing, the bare engine and a peer.
import { SECRET } from '../names.ts';
import { cpuRatio, measureRounds, over, rateRatio, sliceOf } from '../rounds.ts';
import * as section from '../section.ts';

const BARE = 'B: bare engine';
const PEER = '@node-oauth/oauth2-server';
const MAIN = 'postern, lmdb';

export async function tokens(stage: section.Stage): Promise<section.Findings> {
  const bare = await stage.bareEngine();
  const peer = await stage.serveSubject('oauth2-server.ts', (port) => [port, SECRET]);
  const redis = await stage.redis();
  const services = [
    await stage.postern({ name: MAIN, store: stage.lmdb('lmdb') }),
    await stage.postern({ name: 'postern, redis', store: redis }),
    await stage.postern({ name: 'postern, lmdb, 2 workers', store: stage.lmdb('lmdb-2'), workers: 2 }),
  ];
  const subjects = [
    section.signing(1),
    section.signing(2),
    section.loaded(BARE, bare.pid, section.tokenRequest(`${bare.url}/token`)),
    section.loaded(PEER, peer.pid, section.tokenRequest(peer.url)),
    ...services.map(({ name, pid, issuer }) =>
      section.loaded(name, pid, section.tokenRequest(`${issuer}/oauth/token`)),
    ),
  ];
  const rounds = await measureRounds(subjects, stage.options);

  const targets = services.flatMap(({ name }) => {
    const rest = over(
      rounds,
      (round) => sliceOf(round, name).cpuMicroseconds - sliceOf(round, section.S1).cpuMicroseconds,
    );
    const because = `${section.short(rest.median)} µs of a token are not the signature`;
    return [
      section.atLeast(`token rate / S1: ${name}`, rateRatio(rounds, name, section.S1), 1.25, because),
      section.atLeast(`token rate / B: ${name}`, rateRatio(rounds, name, BARE), 1.7, because),
      section.atLeast(`token rate / ${PEER}: ${name}`, rateRatio(rounds, name, PEER), 1, because),
      section.atMost(
        `CPU of a token / signature: ${name}`,
        cpuRatio(rounds, name, section.S1),
        1.35,
        because,
      ),
    ];
  });
  const table = section.tableOf('Machine tokens (client_credentials)', rounds, {
    '× S1': (name) => rateRatio(rounds, name, section.S1),
    '× B': (name) => rateRatio(rounds, name, BARE),
    'CPU / signature': (name) => cpuRatio(rounds, name, section.S1),
  });
  return { tables: [table], targets, raw: section.plain(rounds) };
}

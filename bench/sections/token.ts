// Machine tokens: the service on both stores, in one process and in two, against raw signing, the bare engine and a peer.
import { SECRET } from '../names.ts';
import { cpuRatio, measureRounds, over, rateRatio, sliceOf } from '../rounds.ts';
import * as section from '../section.ts';

const PEER = '@node-oauth/oauth2-server';

export async function tokens(stage: section.Stage): Promise<section.Findings> {
  const bare = await stage.bareEngine();
  const peer = await stage.serveSubject('oauth2-server.ts', (port) => [port, SECRET]);
  const services = await section.onBothStores(stage);
  const two = await stage.postern({ name: 'postern, lmdb, 2 workers', store: stage.lmdb('two'), workers: 2 });
  const subjects = [
    section.signing(1),
    section.signing(2),
    section.loaded(section.BARE, bare.pid, section.tokenRequest(`${bare.url}/oauth/token`)),
    section.loaded(PEER, peer.pid, section.tokenRequest(peer.url)),
    ...[...services, two].map(({ name, pid, issuer }) =>
      section.loaded(name, pid, section.tokenRequest(`${issuer}/oauth/token`)),
    ),
  ];
  const rounds = await measureRounds(subjects, stage.options);
  const beside = (name: string) =>
    over(
      rounds,
      (round) => sliceOf(round, name).cpuMicroseconds - sliceOf(round, section.S1).cpuMicroseconds,
    );
  const isLimit = (name: string) => name === section.S1 || name === section.S2;
  const { atLeast, atMost } = section;
  const targets = services.flatMap(({ name }) => [
    atLeast(`token rate / S1: ${name}`, rateRatio(rounds, name, section.S1), 1.25, 1.45),
    atLeast(`token rate / B: ${name}`, rateRatio(rounds, name, section.BARE), 1.7),
    atLeast(`token rate / ${PEER}: ${name}`, rateRatio(rounds, name, PEER), 1),
    atMost(`CPU of a token / signature: ${name}`, cpuRatio(rounds, name, section.S1), 1.35, 1.25),
    atMost(`CPU µs of a token beside its signature: ${name}`, beside(name), 75),
  ]);
  const table = section.tableOf('Machine tokens (client_credentials)', rounds, {
    '× S1': (name) => rateRatio(rounds, name, section.S1),
    '× B': (name) => rateRatio(rounds, name, section.BARE),
    'CPU / signature': (name) => cpuRatio(rounds, name, section.S1),
    'CPU µs beside the signature': (name) => (isLimit(name) ? section.NONE : beside(name)),
  });
  return {
    tables: [table],
    targets,
    notes: [
      'Beside the signature: less the CPU of a signature in the same round, which does not depend on how dear RSA is on a CPU.',
    ],
    raw: section.plain(rounds),
  };
}

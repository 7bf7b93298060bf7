// The cost of a request, relative to the floor, raw signatures, the bare engine and a peer.
import { ratio } from '../measure.ts';
import { cpuAtMost, rateAtLeast, restAtMost, type Section } from '../section.ts';
import { BARE, LMDB, NO_API, OPAQUE, REDIS } from '../service.ts';
import * as subjects from '../subjects.ts';

const FLOOR = 'hand-written floor';
const PEER = '@node-oauth/oauth2-server';
const MACHINE = ", machine's token";
const PERSON = ", person's token";
/** How much more the service may cost on Redis than on lmdb. */
const ON_REDIS = [1.15] as const;

export const token: Section = async (stage) => {
  const services = [
    await stage.other(FLOOR, 'floor.ts'),
    await stage.other(PEER, 'oauth2-server.ts'),
    await stage.bareEngine(),
    ...(await stage.both()),
  ];
  return {
    subjects: [subjects.signatures(1), subjects.signatures(2), ...services.map(subjects.machineToken)],
    targets: [
      cpuAtMost('machine token: CPU / the floor’s', LMDB, FLOOR, [1.1, 1.05]),
      rateAtLeast(`machine token: rate / ${PEER}’s`, LMDB, PEER, [1, 1.1]),
      cpuAtMost('machine token: CPU on Redis / on lmdb', REDIS, LMDB, ON_REDIS),
    ],
  };
};

export const introspection: Section = async (stage) => {
  const services = [await stage.bareOpaque(), ...(await stage.both())];
  const kinds = services.flatMap((service) => [
    subjects.introspection(service, "machine's"),
    subjects.introspection(service, "person's"),
  ]);
  const rate = 'introspection of a machine’s token: rate / the bare engine’s';
  return {
    subjects: await Promise.all(kinds),
    targets: [
      cpuAtMost(
        'introspection of a person’s token: CPU / the bare engine’s',
        LMDB + PERSON,
        OPAQUE + PERSON,
        [1, 0.8],
      ),
      rateAtLeast(`${rate}, lmdb`, LMDB + MACHINE, OPAQUE + MACHINE, [3.1]),
      rateAtLeast(`${rate}, Redis`, REDIS + MACHINE, OPAQUE + MACHINE, [2.3]),
    ],
  };
};

export const workers: Section = async (stage) => {
  const [one, two] = ['1 worker', '2 workers'];
  const services = [
    await stage.postern({ name: one, store: 'lmdb' }),
    await stage.postern({ name: two, store: 'lmdb', workers: 2 }),
  ];
  const kinds = services.flatMap((service) => [
    subjects.introspection(service, "machine's"),
    subjects.introspection(service, "person's"),
  ]);
  const target = (kind: string) => ({
    what: `introspections${kind} per second of CPU: two workers / one`,
    goal: 0.8,
    isRate: true,
    of: ratio('cpu', one + kind, two + kind),
  });
  return { subjects: await Promise.all(kinds), targets: [target(MACHINE), target(PERSON)] };
};

export const refresh: Section = async (stage) => {
  const services = [await stage.bareEngine(), ...(await stage.both())];
  return {
    subjects: [subjects.signatures(1), ...services.map((service) => subjects.refresh(service))],
    targets: [
      restAtMost(
        'refresh: CPU beside two signatures / the bare engine’s',
        [LMDB, BARE, subjects.S1],
        [1.3, 1],
      ),
      cpuAtMost('refresh: CPU on Redis / on lmdb', REDIS, LMDB, ON_REDIS),
    ],
  };
};

export const userinfo: Section = async (stage) => {
  const services = await stage.both();
  const kinds = services.flatMap((service) => [
    subjects.introspection(service, "person's"),
    subjects.userinfo(service),
  ]);
  const of = (name: string) => `${name}, userinfo`;
  const rate = 'userinfo: rate / the bare engine’s';
  return {
    subjects: await Promise.all([...kinds, subjects.userinfo(await stage.bareWithoutApi())]),
    targets: [
      rateAtLeast(`${rate}, lmdb`, of(LMDB), of(NO_API), [1.5]),
      rateAtLeast(`${rate}, Redis`, of(REDIS), of(NO_API), [1.5]),
      cpuAtMost('userinfo: CPU / that of an introspection, lmdb', of(LMDB), LMDB + PERSON, [2.5]),
      cpuAtMost('userinfo: CPU / that of an introspection, Redis', of(REDIS), REDIS + PERSON, [2.5]),
    ],
  };
};

export const exchange: Section = async (stage) => {
  const services = [await stage.bareEngine(), ...(await stage.both())];
  const of = (name: string) => `${name}, code exchange`;
  return {
    subjects: [subjects.signatures(1), ...services.map((service) => subjects.exchange(service))],
    targets: [
      restAtMost(
        'code exchange: CPU beside two signatures / the bare engine’s',
        [of(LMDB), of(BARE), subjects.S1],
        [1.3],
      ),
      cpuAtMost('code exchange: CPU on Redis / on lmdb', of(REDIS), of(LMDB), ON_REDIS),
    ],
  };
};

export const flow: Section = async (stage) => {
  const people = stage.isQuick ? 300 : 5000;
  const services = [await stage.bareEngine(), ...(await stage.both({ people }))];
  const session = (name: string) => `${name}, in a session`;
  return {
    subjects: [
      subjects.signatures(1),
      ...services.map((service) => subjects.firstFlow(service, people)),
      ...services.map((service) => subjects.sessionFlow(service, people)),
    ],
    targets: [
      restAtMost(
        'flow in a session: CPU beside the signatures / the bare engine’s',
        [session(LMDB), session(BARE), subjects.S1],
        [1.1],
      ),
      cpuAtMost('flow in a session: CPU on Redis / on lmdb', session(REDIS), session(LMDB), ON_REDIS),
      restAtMost('first sign-in flow: CPU without the hash / the bare engine’s', [LMDB, BARE], [1.1]),
    ],
  };
};

export const documents: Section = async (stage) => {
  const service = await stage.postern({ name: LMDB, store: 'lmdb' });
  const target = (what: string) =>
    cpuAtMost(`${what}: CPU of a 304 / of a 200`, `${LMDB}, ${what} 304`, `${LMDB}, ${what} 200`, [1, 0.8]);
  return {
    subjects: [
      ...(await subjects.documents(service, 'discovery')),
      ...(await subjects.documents(service, 'JWKS')),
    ],
    targets: ['discovery', 'JWKS'].map(target),
  };
};

// How cost grows: CPU of a request with more clients, users, live grants and resources, relative to the smallest size (lmdb).
import type { Subject } from '../measure.ts';
import { cpuAtMost, type Section } from '../section.ts';
import { seedGrants, seedPeople } from '../seed.ts';
import { basicOf, type Service, type ServiceOptions, type Stage } from '../service.ts';
import * as subjects from '../subjects.ts';
import { ask } from '../load.ts';

/** Users in the file; any more have to be in the store. */
const PEOPLE = 1000;
const GOALS = [1.1] as const;
/** A rate of tokens a second that any machine reaches. */
const FEWEST_A_SECOND = 500;
type Requests = (service: Service, size: number) => Promise<Readonly<Record<string, Subject>>>;

const grows =
  (what: string, sizes: (stage: Stage) => readonly number[], grow: Grow, requests: Requests): Section =>
  async (stage) => {
    const all = sizes(stage);
    const grown: (readonly [number, Service])[] = [];
    for (const size of all) grown.push([size, await grow(stage, `${size} ${what}`, size)]);
    // Writing a million grants takes longer than a token lives, so users sign in only when all grants are there.
    const made: { readonly size: number; readonly of: Readonly<Record<string, Subject>> }[] = [];
    for (const [size, service] of grown) made.push({ size, of: await requests(service, size) });
    const names = Object.keys(made[0]?.of ?? {});
    const nameOf = (request: string, size: number) => `${request}, ${size} ${what}`;
    const [smallest = 0, ...bigger] = all;
    return {
      // Subjects that are compared run one after the other.
      subjects: names.flatMap((request) =>
        made.flatMap(({ size, of }) => {
          const subject = of[request];
          return subject === undefined ? [] : [{ ...subject, name: nameOf(request, size) }];
        }),
      ),
      targets: bigger.flatMap((size) =>
        names.map((request) =>
          cpuAtMost(
            `${request}: CPU with ${size} ${what} / with ${smallest}`,
            nameOf(request, size),
            nameOf(request, smallest),
            GOALS,
          ),
        ),
      ),
      chart: {
        title: `CPU of a request with more ${what}`,
        x: what,
        curves: names.map((name) => ({
          name,
          points: all.map((size) => [size, nameOf(name, size)] as const),
        })),
      },
    };
  };

type Grow = (stage: Stage, name: string, size: number) => Promise<Service>;

const inFile =
  (of: (size: number) => Partial<ServiceOptions>): Grow =>
  (stage, name, size) =>
    stage.postern({ name, store: 'lmdb', ...of(size) });

const inStore =
  (people: number, seed: (file: string, size: number) => Promise<void>): Grow =>
  async (stage, name, size) => {
    const configured = await stage.configure({ name, store: 'lmdb', people });
    if (size > 0) await seed(configured.file, size);
    return stage.run(configured);
  };

const ofMachines: Requests = async (service) => {
  const token = subjects.tokenRequest(service);
  const { access_token = '' } = JSON.parse(await ask(token)) as Readonly<Record<string, string>>;
  return {
    token: subjects.loaded(service, token),
    introspection: subjects.loaded(service, subjects.introspectionRequest(service, access_token)),
  };
};

/** All clients request tokens in turn, once before the measurement: the first request of a client costs more. */
const ofClients: Requests = async (service, size) => {
  const authorizations = Array.from({ length: size }, (_, index) => basicOf(index));
  const token = subjects.loaded(service, { ...subjects.tokenRequest(service), authorizations });
  await token.slice(Math.ceil(size / FEWEST_A_SECOND));
  return { ...(await ofMachines(service, size)), token };
};

const ofPeople =
  (count: (size: number) => number): Requests =>
  async (service, size) => ({
    introspection: await subjects.introspection(service, "person's", count(size) - 1),
    refresh: subjects.refresh(service, count(size)),
    'flow in a session': subjects.sessionFlow(service, count(size)),
  });

export const clients = grows(
  'clients',
  ({ isQuick }) => (isQuick ? [10, 1000] : [10, 1000, 10_000]),
  inFile((size) => ({ clients: size })),
  ofClients,
);
export const people = grows(
  'people',
  ({ isQuick }) => [10, isQuick ? 1000 : 100_000],
  inStore(0, seedPeople),
  ofPeople((size) => size),
);
export const grants = grows(
  'grants',
  ({ isQuick, isFull }) => [0, isFull ? 1_000_000 : isQuick ? 1000 : 100_000],
  inStore(PEOPLE, seedGrants),
  ofPeople(() => PEOPLE),
);
export const resources = grows(
  'resources',
  () => [1, 100],
  inFile((size) => ({ resources: size, people: PEOPLE })),
  async (service, size) => ({
    ...(await ofMachines(service, size)),
    'flow in a session': subjects.sessionFlow(service, PEOPLE),
  }),
);

// Two builds, old and new: whether a change costs CPU, time to start, memory or time to reload. Each round starts the old build, the new
// one and the old one again, one at a time: two that live at once slow each other down. The old build against itself shows the noise.
// `npm run bench:compare -- ../old [--rounds N] [--only NAME] [--everything] [--old-settings FILE]`. The other folder is a checkout that
// has been built; FILE has keys of the configuration in the notation that it knows. Exits with 1 where the lower quartile of new / old is
// above 1.05. `start` and `reload` are names, too.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { type Figures, measure, ratio, type Subject, spread } from './measure.ts';
import { format } from './results.ts';
import { reloadOnce, startOnce } from './sections/process.ts';
import { type Configured, type Service, type ServiceOptions, Stage } from './service.ts';
import * as subjects from './subjects.ts';

const MAY_COST = 1.05;
const WARM_SLICES = 2;
const SLICES = 3;
const CLIENTS = 10_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '8' },
    store: { type: 'string', default: 'lmdb' },
    only: { type: 'string' },
    everything: { type: 'boolean', default: false },
    'old-settings': { type: 'string' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the folder of the other build');
const pace = { rounds: Number(values.rounds), seconds: 2, warmSeconds: 0 };

/** Everything that the file can switch on, for the new build only. The load doesn't use it, so it may cost nothing. */
const EVERYTHING = {
  account: true,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  signing_keys: { algorithms: ['RS256', 'ES256', 'EdDSA'] },
  features: { device_flow: true, response_modes: ['query', 'form_post'] },
  client_documents: { hosts: ['app.example'], scope: 'openid' },
  mail: { from: 'postern@acme.example', server: 'folder:mail' },
};

type Slices = { readonly slice: Subject['slice'] };
type Operation = (service: Service, configured: Configured) => Slices | Promise<Slices>;

const OPERATIONS: Readonly<Record<string, Operation>> = {
  'machine token': subjects.machineToken,
  'introspection, machine': (service) => subjects.introspection(service, "machine's"),
  'introspection, person': (service) => subjects.introspection(service, "person's"),
  discovery: async (service) => {
    const [whole] = await subjects.documents(service, 'discovery');
    return whole ?? subjects.machineToken(service);
  },
  refresh: (service) => subjects.refresh(service),
  'flow in a session': (service) => subjects.sessionFlow(service),
  'first sign-in': (service) => subjects.firstFlow(service),
};

const older = {
  program: path.join(other, 'dist/main.js'),
  settings:
    values['old-settings'] === undefined
      ? {}
      : (JSON.parse(readFileSync(values['old-settings'], 'utf8')) as Record<string, unknown>),
};
const newer = { program: 'dist/main.js', settings: values.everything ? EVERYTHING : {} };
/** In the order of a round; every second round goes backwards. */
const BUILDS = { old: older, new: newer, 'old again': older };
const stage = new Stage(pace);

type SliceOf = (configured: Configured, program: string) => Slices['slice'];

/** Starts the build, warms it up, measures it and stops it. */
const alone =
  (operation: Operation): SliceOf =>
  (configured, program) =>
  async (seconds) => {
    const service = await stage.run(configured, program);
    const { slice } = await operation(service, configured);
    const slices: Figures[] = [];
    while (slices.length < WARM_SLICES + SLICES) slices.push(await slice(seconds));
    await service.stop();
    return medians(slices.slice(WARM_SLICES));
  };

function medians(slices: readonly Figures[]): Figures {
  const median = (name: string) => spread(slices.map((one) => one[name] ?? Number.NaN)).median;
  return Object.fromEntries(Object.keys(slices[0] ?? {}).map((name) => [name, median(name)]));
}

/** One line for each figure. */
async function compare(
  name: string,
  figures: readonly string[],
  sliceOf: SliceOf,
  { rounds: count = pace.rounds, ...options }: Partial<ServiceOptions> & { readonly rounds?: number } = {},
): Promise<void> {
  if (values.only !== undefined && values.only !== name) return;
  const builds: Subject[] = [];
  for (const [build, { program, settings }] of Object.entries(BUILDS)) {
    const configured = await stage.configure({
      ...options,
      name: `${name}, ${build}`,
      store: values.store,
      settings,
    });
    builds.push({ name: build, slice: sliceOf(configured, program) });
  }
  const { rounds, isQuiet } = await measure(builds, { ...pace, rounds: count });
  const noise = isQuiet ? '' : ' (something else used the machine)';
  for (const figure of figures) {
    const of = (build: keyof typeof BUILDS) => spread(rounds.map(ratio(figure, build, 'old')));
    const verdict = of('new').low > MAY_COST ? 'costs more' : 'ok';
    if (verdict !== 'ok') process.exitCode = 1;
    const [found, itself] = [format(of('new')), format(of('old again'))];
    process.stdout.write(`${name}: ${figure} new / old ${found}, old / old ${itself}: ${verdict}${noise}\n`);
  }
}

try {
  for (const [name, operation] of Object.entries(OPERATIONS)) await compare(name, ['cpu'], alone(operation));
  await compare(
    'start',
    ['first answer, ms', 'idle memory, MB'],
    (configured, program) => () => startOnce(stage, configured, program),
  );
  const reload: Operation = ({ pid }, configured) => ({ slice: () => reloadOnce(configured, pid) });
  await compare('reload', ['ms', 'cpu'], alone(reload), {
    clients: CLIENTS,
    rounds: Math.ceil(pace.rounds / 2),
  });
} finally {
  await stage.end();
}
process.exit();

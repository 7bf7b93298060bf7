// Two builds, old and new, in turn within one run: whether a change costs CPU, time to start, memory or time to reload.
// `npm run bench:compare -- ../old [--pairs N] [--only NAME] [--everything] [--old-settings FILE]`. The other folder is a checkout that
// has been built; FILE has keys of the configuration in the notation that it knows. Exits with 1 where the lower quartile of a ratio is
// above 1.05. `start` and `reload` are names, too.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measure, ratio, type Subject, spread } from './measure.ts';
import { format } from './results.ts';
import { reloadOnce, startOnce } from './sections/process.ts';
import { type Service, Stage } from './service.ts';
import * as subjects from './subjects.ts';

const MAY_COST = 1.05;
const CLIENTS = 10_000;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '20' },
    store: { type: 'string', default: 'lmdb' },
    only: { type: 'string' },
    everything: { type: 'boolean', default: false },
    'old-settings': { type: 'string' },
  },
});
const [other] = positionals;
if (other === undefined) throw new Error('name the folder of the other build');
const pace = { rounds: Number(values.pairs), seconds: 2, warmSeconds: 60 };

/** What the file can switch on, for the new build alone. Nobody uses it: it may cost nothing. */
const EVERYTHING = {
  account: true,
  sign_in: { passkeys: true, one_time_codes: true, recovery_codes: 10 },
  signing_keys: { algorithms: ['RS256', 'ES256', 'EdDSA'] },
  features: { device_flow: true, response_modes: ['query', 'form_post'] },
  client_documents: { hosts: ['app.example'], scope: 'openid' },
};

const OPERATIONS: Readonly<Record<string, (service: Service) => Subject | Promise<Subject>>> = {
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
const wants = (name: string) => values.only === undefined || values.only === name;
const stage = new Stage(pace);

/** One line for each figure in which the builds are compared. */
async function compare(
  name: string,
  figures: readonly string[],
  both: readonly [Subject, Subject],
  few = pace,
) {
  const { rounds, isQuiet } = await measure(both, few);
  const noise = isQuiet ? '' : ' (something else used the machine)';
  for (const figure of figures) {
    const found = spread(rounds.map(ratio(figure, both[1].name, both[0].name)));
    const verdict = found.low > MAY_COST ? 'costs more' : 'ok';
    if (verdict !== 'ok') process.exitCode = 1;
    process.stdout.write(`${name}: ${figure} new / old ${format(found)}: ${verdict}${noise}\n`);
  }
}

async function compareOperations(): Promise<void> {
  const { store } = values;
  const before = await stage.postern({ name: 'old', store, ...older });
  const after = await stage.postern({
    name: 'new',
    store,
    ...(values.everything && { settings: EVERYTHING }),
  });
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (wants(name)) await compare(name, ['cpu'], [await operation(before), await operation(after)]);
  }
  await Promise.all([before.stop(), after.stop()]);
}

async function compareStart(): Promise<void> {
  const subject = async (name: string, of: Partial<typeof older> = {}): Promise<Subject> => {
    const configured = await stage.configure({ name, store: values.store, ...of });
    return { name, slice: () => startOnce(stage, configured, of.program) };
  };
  const both = [await subject('start of the old one', older), await subject('start of the new one')] as const;
  await compare('start', ['first answer, ms', 'idle memory, MB'], both);
}

async function compareReload(): Promise<void> {
  const subject = async (name: string, of: Partial<typeof older> = {}): Promise<Subject> => {
    const configured = await stage.configure({ name, store: values.store, clients: CLIENTS, ...of });
    const service = await stage.run(configured, of.program);
    return { name, slice: () => reloadOnce(configured, service.pid) };
  };
  const both = [
    await subject('reload of the old one', older),
    await subject('reload of the new one'),
  ] as const;
  await compare(`reload of ${CLIENTS} clients`, ['ms', 'cpu'], both, {
    ...pace,
    rounds: Math.ceil(pace.rounds / 2),
  });
}

try {
  await compareOperations();
  if (wants('start')) await compareStart();
  if (wants('reload')) await compareReload();
} finally {
  await stage.end();
}
process.exit();

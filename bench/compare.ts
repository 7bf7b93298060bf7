// Two builds, old and new, in turn within one run: whether a change costs CPU. `npm run bench:compare -- ../old [--pairs N] [--only NAME]
// [--everything]`.
// The other folder is a checkout that has been built. Exits with 1 where the lower quartile of a ratio is above 1.05.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { measure, ratio, type Subject, spread } from './measure.ts';
import { format } from './results.ts';
import { type Service, Stage } from './service.ts';
import * as subjects from './subjects.ts';

const MAY_COST = 1.05;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    pairs: { type: 'string', default: '20' },
    store: { type: 'string', default: 'lmdb' },
    only: { type: 'string' },
    everything: { type: 'boolean', default: false },
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

const stage = new Stage(pace);
try {
  const { store } = values;
  const older = await stage.postern({ name: 'old', store, program: path.join(other, 'dist/main.js') });
  const newer = await stage.postern({
    name: 'new',
    store,
    ...(values.everything && { settings: EVERYTHING }),
  });
  for (const [name, operation] of Object.entries(OPERATIONS)) {
    if (values.only !== undefined && values.only !== name) continue;
    const [before, after] = [await operation(older), await operation(newer)];
    const { rounds, isQuiet } = await measure([before, after], pace);
    const found = spread(rounds.map(ratio('cpu', after.name, before.name)));
    const verdict = found.low > MAY_COST ? 'costs more' : 'ok';
    if (verdict !== 'ok') process.exitCode = 1;
    const noise = isQuiet ? '' : ' (something else used the machine)';
    process.stdout.write(`${name}: CPU new / old ${format(found)}: ${verdict}${noise}\n`);
  }
} finally {
  await stage.end();
}
process.exit();

// Store trips of each action, as tables and lists. Counted by trips.ts.
import * as section from '../section.ts';
import { spread } from '../rounds.ts';
import { type ActionTrips, measureTrips } from '../trips.ts';

const GOALS: Readonly<Record<string, number>> = {
  client_credentials: 0,
  'introspection of a machine token': 1,
  refresh: 4,
  'code flow, first sign-in and consent': 9,
};

const sequentialOf = ({ requests }: ActionTrips) =>
  requests.reduce((sum, { sequential }) => sum + sequential, 0);
const commandsOf = ({ requests }: ActionTrips) => requests.reduce((sum, { commands }) => sum + commands, 0);

export async function trips(stage: section.Stage): Promise<section.Findings> {
  const actions = await measureTrips(stage.folder);
  const rows = actions.map((one) => [one.action, String(sequentialOf(one)), String(commandsOf(one))]);
  const lists = actions.flatMap(({ action, requests }) =>
    requests.map(({ request, sequential, waves, behind }) => [
      action,
      request,
      String(sequential),
      waves.map((wave, index) => `${index + 1}. ${wave.join(' + ')}`).join('<br>'),
      behind.join(', '),
    ]),
  );
  return {
    tables: [
      { title: 'Store trips', columns: ['action', 'sequential trips', 'commands'], rows },
      {
        title: 'Store trips, one by one',
        columns: ['action', 'request', 'sequential', 'what is waited for', 'not waited for'],
        rows: lists,
      },
    ],
    targets: actions.flatMap((one) => {
      const goal = GOALS[one.action];
      const found = spread([sequentialOf(one)]);
      return goal === undefined
        ? []
        : [section.atMost(`sequential store trips (redis): ${one.action}`, found, goal)];
    }),
    notes: [
      'Sequential trips are counted by a proxy in front of Redis that delays each batch by 25 ms: what came while another batch ' +
        'was on its way shares its trip. Commands are all that were sent before the answer. The second sign-in of a warm process is ' +
        'counted; the reading of the key ring, which a process does by itself every 4 s, is not.',
    ],
    raw: actions,
  };
}

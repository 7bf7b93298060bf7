// Introspection of our JWTs against the bare engine's of an opaque token, which is all that it introspects.
import { Person } from '../person.ts';
import { personName } from '../names.ts';
import { measureRounds, rateRatio } from '../rounds.ts';
import * as section from '../section.ts';
import { Connection } from '../wire.ts';

const BARE = 'bare engine, opaque machine token';
const OPAQUE = '&resource=urn:example:opaque';

export async function introspection(stage: section.Stage): Promise<section.Findings> {
  const bare = await stage.bareEngine();
  const opaque = await section.machineToken(`${bare.url}/token`, OPAQUE);
  const services = await section.onBothStores(stage);
  const subjects = [
    section.loaded(BARE, bare.pid, section.introspectionRequest(`${bare.url}/token/introspection`, opaque)),
  ];
  for (const { name, pid, issuer } of services) {
    const machine = await section.machineToken(`${issuer}/oauth/token`);
    const connection = new Connection(issuer);
    const person = await new Person(issuer, personName(1), connection).flow();
    connection.close();
    const url = `${issuer}/oauth/introspect`;
    subjects.push(
      section.loaded(`${name}, machine token`, pid, section.introspectionRequest(url, machine)),
      section.loaded(`${name}, person's token`, pid, section.introspectionRequest(url, person.accessToken)),
    );
  }
  const rounds = await measureRounds(subjects, stage.options);
  const toBare = (name: string) => rateRatio(rounds, name, BARE);
  return {
    tables: [section.tableOf('Introspection', rounds, { '× bare engine': toBare })],
    targets: services.map(({ name }) =>
      section.atLeast(`introspection rate / bare engine's: ${name}`, toBare(`${name}, machine token`), 2.5),
    ),
    raw: section.plain(rounds),
  };
}

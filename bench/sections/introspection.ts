// Introspection of our JWTs against the bare engine's of its opaque tokens, which is all that it introspects.
import { personName } from '../names.ts';
import { Person } from '../person.ts';
import { cpuRatio, measureRounds, rateRatio } from '../rounds.ts';
import * as section from '../section.ts';
import { Connection } from '../wire.ts';

export async function introspection(stage: section.Stage): Promise<section.Findings> {
  const services = [await stage.bareEngine('opaque'), ...(await section.onBothStores(stage))];
  const subjects = [];
  for (const { name, pid, issuer } of services) {
    const machine = await section.machineToken(`${issuer}/oauth/token`);
    const connection = new Connection(issuer);
    const person = await new Person(issuer, personName(1), connection).flow();
    connection.close();
    const url = `${issuer}/oauth/introspect`;
    subjects.push(
      section.loaded(`${name}, machine's token`, pid, section.introspectionRequest(url, machine)),
      section.loaded(`${name}, person's token`, pid, section.introspectionRequest(url, person.accessToken)),
    );
  }
  const rounds = await measureRounds(subjects, stage.options);
  const [ofMachine, ofPerson] = [`${section.OPAQUE}, machine's token`, `${section.OPAQUE}, person's token`];
  const cpu = (of: string) => (name: string) => cpuRatio(rounds, name, of);
  const rate = (name: string) => rateRatio(rounds, name, ofMachine);
  return {
    tables: [
      section.tableOf('Introspection', rounds, {
        "CPU / bare engine's, person": cpu(ofPerson),
        "CPU / bare engine's, machine": cpu(ofMachine),
        "rate / bare engine's, machine": rate,
      }),
    ],
    targets: services
      .slice(1)
      .flatMap(({ name }, index) => [
        section.atMost(
          `introspection of a person's token, CPU / bare engine's: ${name}`,
          cpu(ofPerson)(`${name}, person's token`),
          1,
          0.8,
        ),
        section.atLeast(
          `introspection of a machine's token, rate / bare engine's: ${name}`,
          rate(`${name}, machine's token`),
          index === 0 ? 3.1 : 2.3,
        ),
      ]),
    raw: section.plain(rounds),
  };
}

// Whom another configuration locks out: people of the file who lack what it asks for. What they have is in the store.
import { createAccessRules } from './access-rules.ts';
import type { Client, Config, User } from './config.ts';
import { formatDuration } from './notation.ts';
import { listedNames } from './wording.ts';
import type { PlanItem } from './plan-severity.ts';
import { type Level, reaches } from './sign-in-levels.ts';

type Side = Pick<Config, 'signIn' | 'clients' | 'resources' | 'groups' | 'users'>;

/** The strongest sign-in of a person by the methods that are on. `none`: they have factors, and none of them is on. */
type Reached = Level | 'none';
export type ReachedBy = (signIn: Config['signIn'], accountId: string) => Reached;
type Judged = {
  readonly person: Omit<User, 'passwordHash'>;
  readonly was: Reached;
  readonly is: Reached;
};

const BY_LINK = 'a link of "postern user enrol"';

/** Whether the two ask for different things, so that what people have must be looked at. */
export function signInsDiffer(current: Side, next: Side): boolean {
  const asked = ({ signIn, clients }: Side) =>
    JSON.stringify([signIn, clients.map(({ clientId, signIn: own }) => [clientId, own])]);
  return asked(current) !== asked(next);
}

export function planSignIns(
  current: Side,
  next: Side,
  reachedBy: ReachedBy,
  ofStore: readonly Judged['person'][] = [],
): PlanItem[] {
  const before = new Set(current.users.map(({ id }) => id));
  const judge = (person: Judged['person']) => ({
    person,
    was: reachedBy(current.signIn, person.id),
    is: reachedBy(next.signIn, person.id),
  });
  const people = next.users.filter(({ id, disabled }) => before.has(id) && !disabled).map(judge);
  const isOut = ({ was, is }: Judged) => was !== 'none' && is === 'none';
  const rest = people.filter(({ is }) => is !== 'none');
  const reason = "can't sign in any more: the factors that they have are switched off";
  return [
    ...say('breaking', 'sign_in', people.filter(isOut), reason),
    ...say('breaking', 'sign_in', ofStore.map(judge).filter(isOut), reason, 'of the store'),
    ...(current.signIn?.secondFactor === 'required' ? [] : planRequired(next, rest)),
    ...next.clients.flatMap((client) => planClient([current, next], client, rest)),
  ];
}

function planRequired({ signIn }: Side, people: readonly Judged[]): PlanItem[] {
  if (signIn?.secondFactor !== 'required') return [];
  const without = people.filter(({ is }) => is === 'password');
  const within = `within ${formatDuration(signIn.grace)}`;
  return signIn.enrolment === 'self'
    ? say('change', 'sign_in.second_factor', without, `must add a second factor ${within}`)
    : say(
        'breaking',
        'sign_in.second_factor',
        without,
        `must follow ${BY_LINK} ${within}, or can't sign in after that`,
      );
}

function planClient(
  [current, next]: readonly [Side, Side],
  client: Client,
  people: readonly Judged[],
): PlanItem[] {
  const { clientId, signIn } = client;
  if (signIn === undefined) return [];
  const rules = createAccessRules(next);
  const old = current.clients.find((one) => one.clientId === clientId);
  if (old === undefined) return [];
  const couldBefore = ({ was }: Judged) =>
    was !== 'none' && (old.signIn === undefined || reaches(was, old.signIn.require));
  const short = people.filter(
    (one) =>
      one.is !== 'none' &&
      !reaches(one.is, signIn.require) &&
      couldBefore(one) &&
      rules.mayUseClient(one.person, client),
  );
  // Who has a second factor adds others with it.
  const needsLink = ({ is }: Judged) => is === 'password' && next.signIn?.enrolment !== 'self';
  const path = `clients[${clientId}].sign_in`;
  return [
    ...say(
      'breaking',
      path,
      short.filter(needsLink),
      `can't sign in to ${clientId} before they follow ${BY_LINK}`,
    ),
    ...say(
      'change',
      path,
      short.filter((one) => !needsLink(one)),
      `must add a ${signIn.require === 'passkey' ? 'passkey' : 'second factor'} at the next sign-in to ${clientId}`,
    ),
  ];
}

function say(
  severity: PlanItem['severity'],
  path: string,
  people: readonly Judged[],
  what: string,
  where = 'of the file',
): PlanItem[] {
  const names = people.map(({ person }) => person.username);
  const [first] = names;
  if (first === undefined) return [];
  const who = names.length === 1 ? first : `${names.length} people ${where} (${listedNames(names)})`;
  return [{ severity, path, message: `${who} ${what}` }];
}

// Which people in the users file collide. Owns the rules between people; fields by themselves are in schema-user.ts.
import { canonicalUsername } from './username.ts';
import { understood, type Entry } from './rules.ts';
import type { UserForm } from './schema-user.ts';

/** Reports every id and username that two people have. */
export function checkUsers(users: readonly Entry<UserForm>[]): void {
  const ids = new Map<string, Entry<UserForm>>();
  const usernames = new Map<string, Entry<UserForm>>();
  for (const user of users) {
    const id = understood(user, ['id'])?.id;
    if (id !== undefined) checkTaken(user, { key: 'id', taken: ids, value: id });
    const username = understood(user, ['username'])?.username;
    if (username !== undefined) {
      checkTaken(user, { key: 'username', taken: usernames, value: canonicalUsername(username) });
    }
  }
}

type Taken = {
  readonly key: 'id' | 'username';
  readonly taken: Map<string, Entry<UserForm>>;
  readonly value: string;
};

function checkTaken(user: Entry<UserForm>, { key, taken, value }: Taken): void {
  const first = taken.get(value);
  if (first !== undefined) user.report([...user.path, key], `${value} is already used at ${first.place}`);
  taken.set(value, first ?? user);
}

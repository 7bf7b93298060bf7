// What a change means for people. Owns the words.
import type { User } from './config.ts';
import { item } from './plan-items.ts';
import type { PlanItem, Sides } from './plan.ts';

export function planPeople({ current, next }: Sides<{ readonly users: readonly User[] }>): PlanItem[] {
  const before = new Map(current.users.map((user) => [user.id, user]));
  const after = new Set(next.users.map(({ id }) => id));
  return [
    ...current.users.flatMap(({ id, username }) =>
      after.has(id)
        ? []
        : item('breaking', pathOf(username), 'is removed: every session and token of this person ends'),
    ),
    ...next.users.flatMap((user) => {
      const old = before.get(user.id);
      return old === undefined
        ? item('change', pathOf(user.username), 'is new')
        : planPerson({ current: old, next: user });
    }),
  ];
}

const pathOf = (username: string): string => `users[${username}]`;

function planPerson({ current, next }: Sides<User>): PlanItem[] {
  const path = pathOf(next.username);
  const items: PlanItem[] = [];
  if (current.username !== next.username) {
    items.push(...item('breaking', path, `signs in with this name now, not with ${current.username}`));
  }
  if (current.disabled !== next.disabled) {
    items.push(
      ...(next.disabled
        ? item('breaking', path, 'is disabled: every session and token of this person ends')
        : item('change', path, 'may sign in again')),
    );
  }
  if (current.passwordHash !== next.passwordHash) items.push(...item('change', path, 'has another password'));
  const keys = new Set([...Object.keys(current.claims), ...Object.keys(next.claims)]);
  const changed = [...keys].filter(
    (key) => JSON.stringify(current.claims[key]) !== JSON.stringify(next.claims[key]),
  );
  if (changed.length > 0) items.push(...item('change', path, `has other claims: ${changed.join(', ')}`));
  return items;
}

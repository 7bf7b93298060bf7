// What requests can't bring about; who may do what is test/features/access.
import { expect, it } from 'vitest';
import { createAccessRules } from '../../../src/config/access-rules.ts';
import { load, LOCAL } from './config-files.ts';

it('a client hears of the groups that exist and that are for it, each once and sorted', async () => {
  const app = (id: string) =>
    `client_id: ${id}, token_endpoint_auth_method: none, redirect_uris: [http://localhost/cb], scope: openid groups`;
  const rules = createAccessRules(
    await load(`${LOCAL}groups: { staff: Employees, wiki: Editors, managers: Managers }
clients:
  - { ${app('wiki')}, groups_claim: [wiki, staff] }
  - { ${app('open')} }
`),
  );
  const person = { groups: ['wiki', 'managers', 'staff', 'staff', 'nobody-defined-this', 'toString'] };
  expect(rules.groupsFor(person, { clientId: 'open' })).toEqual(['managers', 'staff', 'wiki']);
  expect(rules.groupsFor(person, { clientId: 'wiki' })).toEqual(['staff', 'wiki']);
  expect(rules.groupsFor(person, { clientId: 'gone' })).toEqual([]);
});

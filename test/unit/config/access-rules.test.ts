import { describe, expect, it } from 'vitest';
import { createAccessRules } from '../../../src/config/access-rules.ts';
import { load, LOCAL } from './config-files.ts';

const API = { resource: 'https://api.example/a' };
const OPEN_API = { resource: 'https://api.example/b' };
const WIKI = { clientId: 'wiki' };
const OPEN = { clientId: 'open' };

const rules = createAccessRules(
  await load(`${LOCAL}groups: { staff: Employees, wiki: Editors, managers: Managers }
resources:
  - resource: ${API.resource}
    scopes: [a.read, a.write, a.admin]
    access: { groups: [staff, wiki] }
    scope_groups: { a.write: [managers], a.admin: [managers, wiki] }
  - resource: ${OPEN_API.resource}
    scopes: [b.read]
clients:
  - { client_id: wiki, scope: openid groups, access: { groups: [staff] }, groups_claim: [wiki, staff], ${web()} }
  - { client_id: open, scope: openid groups, ${web()} }
`),
);

function web(): string {
  return 'client_secret: q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg-aUeRoQiZwKt, redirect_uris: [http://localhost/cb]';
}

const inGroups = (...groups: string[]) => ({ groups });

describe('the rules of who may do what', () => {
  it('let people into an app by their groups, and everybody where there is no rule', () => {
    expect(rules.mayUseClient(inGroups('staff'), WIKI)).toBe(true);
    expect(rules.mayUseClient(inGroups('wiki'), WIKI)).toBe(false);
    expect(rules.mayUseClient(inGroups(), OPEN)).toBe(true);
    expect(rules.mayUseClient(inGroups('staff'), { clientId: 'gone' })).toBe(false);
  });

  it('let people have tokens for an API by their groups', () => {
    expect(rules.mayUseResource(inGroups('wiki'), API)).toBe(true);
    expect(rules.mayUseResource(inGroups('managers'), API)).toBe(false);
    expect(rules.mayUseResource(inGroups(), OPEN_API)).toBe(true);
    expect(rules.mayUseResource(inGroups('wiki'), { resource: 'https://gone.example' })).toBe(false);
  });

  it('take single scopes away', () => {
    const asked = ['openid', 'a.write', 'a.read', 'a.admin'];
    expect(rules.scopesLeft(inGroups('managers'), API, asked)).toEqual(asked);
    expect(rules.scopesLeft(inGroups('wiki'), API, asked)).toEqual(['openid', 'a.read', 'a.admin']);
    expect(rules.scopesLeft(inGroups(), API, asked)).toEqual(['openid', 'a.read']);
    expect(rules.scopesLeft(inGroups(), OPEN_API, asked)).toEqual(asked);
  });

  it('tell a client the groups that exist and that are for it, sorted', () => {
    const person = inGroups('wiki', 'managers', 'staff', 'staff', 'nobody-defined-this', 'toString');
    expect(rules.groupsFor(person, OPEN)).toEqual(['managers', 'staff', 'wiki']);
    expect(rules.groupsFor(person, WIKI)).toEqual(['staff', 'wiki']);
    expect(rules.groupsFor(inGroups(), OPEN)).toEqual([]);
  });
});

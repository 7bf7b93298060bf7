import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfigWithSources } from '../../../src/config/load.ts';
import type { StoredUsers } from '../../../src/features/plan/users.ts';
import { toPlan, type Plan, type PlanSide } from '../../../src/features/plan/plan.ts';
import { settingsForRestart } from '../../../src/config/restart.ts';
import { digestOf } from '../../../src/config/secret-strength.ts';
import {
  client,
  ENV,
  LOCAL,
  machine,
  NOW,
  OTHER_SECRET,
  PUBLIC,
  RESOURCES,
  SECRET,
  write,
} from '../../unit/config/config-files.ts';

const USER = (keys = '') =>
  `- id: usr_0123456789abcdef\n  username: alice\n  password_hash: $argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc\n${keys}`;

async function side(yaml: string, users?: string): Promise<PlanSide> {
  const file = write(users === undefined ? yaml : `${yaml}users_from: users.yaml\n`, {
    ...(users !== undefined && { 'users.yaml': users }),
  });
  const { config, generatedKeys } = await loadConfigWithSources(file, { env: ENV, writeKeys: false });
  return { config, generatedKeys, folder: dirname(file) };
}

async function planOf(current: string, next: string): Promise<Plan> {
  return toPlan(await side(current), await side(next), NOW);
}

/** One line per item, as in `breaking clients[web]: …`. */
const lines = ({ items }: Plan) =>
  items.map(({ severity, path, message }) => `${severity} ${path}: ${message}`);

const BASE = `${PUBLIC}${RESOURCES}`;
const WEB: Readonly<Record<string, string>> = {
  redirect_uris: '[https://app.example/callback, https://app.example/other]',
  post_logout_redirect_uris: '[https://app.example/]',
  grant_types: '[authorization_code, refresh_token]',
  scope: 'openid email offline_access reports.read',
};
const withWeb = (keys: Record<string, string | undefined> = {}) =>
  `${BASE}clients:\n${client({ ...WEB, ...keys })}`;

const LAX = `${PUBLIC}account: true
groups: { staff: Staff }
management: { hosts: [metrics] }
sign_in: { passkeys: true, second_factor: required, grace: 14d, enrolment: self }
mail: { from: a@acme.example, server: smtp://mail.example, sign_up: { domains: any } }
scopes: { team: { claims: [team] } }
${RESOURCES}    access_token_claims: [email]
clients:
${client({ id_token_claims: 'full', consent: 'explicit', backchannel_logout_uri: 'https://app.example/out' })}`;

describe('a plan', () => {
  it('is nothing for the same configuration, also in another folder and in another order', async () => {
    const one = `${withWeb()}${machine({ client_secret: 'env:OTHER_SECRET' })}`;
    const other = `clients:\n${machine({ client_secret: 'env:OTHER_SECRET' })}${client({ ...WEB, redirect_uris: '[https://app.example/other, https://app.example/callback]' })}`;
    expect(await planOf(one, `${BASE}${other}`)).toEqual({ result: 'nothing', items: [] });
    // Generated keys and the data folder belong to the installation, not to the file.
    expect(await planOf(LOCAL, LOCAL)).toEqual({ result: 'nothing', items: [] });
  });

  it('says which clients come and go', async () => {
    const plan = await planOf(withWeb(), `${BASE}clients:\n${machine()}`);
    expect(plan.result).toBe('breaking');
    expect(lines(plan)).toEqual(['breaking clients[web]: removed', 'change clients[svc]: added']);
  });

  it.each<[keys: Record<string, string>, line: string]>([
    [{ redirect_uris: '[https://app.example/callback]' }, 'redirect_uris: removed https://app.example/other'],
    [{ scope: 'openid offline_access reports.read' }, 'scope: removed email'],
    [
      { token_endpoint_auth_method: 'client_secret_post' },
      'token_endpoint_auth_method: changed from client_secret_basic to client_secret_post',
    ],
  ])('calls it breaking when %j leaves something out or changes it', async (keys, line) => {
    const plan = await planOf(withWeb(), withWeb(keys));
    expect([plan.result, ...lines(plan)]).toEqual(['breaking', `breaking clients[web].${line}`]);
    // The reverse change adds the omitted settings: harmless, except for an app that authenticates differently.
    const back = await planOf(withWeb(keys), withWeb());
    expect(back.result).toBe('token_endpoint_auth_method' in keys ? 'breaking' : 'changes');
  });

  it.each([
    ['account: true', '', 'account'],
    ['[metrics]', '[]', 'management.hosts'],
    ['14d', '13d', 'sign_in.grace'],
    ['self', 'link', 'sign_in.enrolment'],
    ['any', '[acme.example]', 'mail.sign_up.domains'],
    ['[team]', '[]', 'scopes[team].claims'],
    ['[email]', '[]', 'resources[https://api.example/reports].access_token_claims'],
    ['full', 'minimal', 'clients[web].id_token_claims'],
    ['consent', 'groups_claim: [staff]\n    consent', 'clients[web].groups_claim'],
    [/backchannel.*/, '', 'clients[web].backchannel_logout_uri'],
  ])('calls it breaking when %s becomes "%s", and not the reverse', async (from, to, path) => {
    const strict = LAX.replace(from, to);
    expect(lines(await planOf(LAX, strict))).toEqual([expect.stringContaining(`breaking ${path}: `)]);
    expect((await planOf(strict, LAX)).result).toBe('changes');
  });

  it('calls a shorter grace breaking only where it applies', async () => {
    const optional = LAX.replace('required', 'optional');
    const shorter = (yaml: string) => yaml.replace('14d', '13d');
    expect(lines(await planOf(optional, shorter(optional)))).toEqual([
      'change sign_in.grace: changed from 1209600 to 1123200',
    ]);
    // It was optional before.
    expect(lines(await planOf(optional, shorter(LAX)))).not.toContainEqual(
      expect.stringContaining('breaking sign_in.grace'),
    );
  });

  it('compares paths as the files have them', async () => {
    const file = (data: string, mail: string) =>
      `${PUBLIC}store: lmdb:${data}\nmail: { from: a@acme.example, server: "folder:${mail}" }\n`;
    const elsewhere = { ...(await side(file('/srv/data', '/srv/mail'))), folder: '/srv/other/config' };
    expect(toPlan(await side(file('/srv/data', '/srv/mail')), elsewhere, NOW).items).toEqual([]);
    expect((await planOf(file('../data', './mail'), file('../data', './mail'))).items).toEqual([]);
    expect(lines(await planOf(file('../data', './mail'), file('../other', './mail2')))).toEqual([
      'breaking store: changed; takes effect at the next start',
      'change mail.server: changed from folder:mail to folder:mail2',
    ]);
  });

  it('tells a stricter setting from a laxer one', async () => {
    const plain = `${BASE}clients:\n${client({ require_pkce: 'false', consent: 'implicit' })}`;
    const strict = `${BASE}clients:\n${client()}`;
    expect(lines(await planOf(plain, strict))).toEqual([
      'breaking clients[web].require_pkce: changed from false to true',
      'change clients[web].consent: changed from implicit to explicit',
    ]);
    expect((await planOf(strict, plain)).result).toBe('changes');
  });

  it('knows what a change of address, keys or store costs', async () => {
    const plan = await planOf(
      PUBLIC,
      `issuer: https://login.example\nencryption_keys: [env:ENCRYPTION_KEY]\ncookie_keys: [env:WEB_SECRET]\nstore: redis://redis.example\nlisten: { port: 4000 }\n`,
    );
    expect(lines(plan)).toEqual([
      'breaking issuer: changed from https://id.example to https://login.example; takes effect at the next start',
      'change listen.port: changed from 3000 to 4000; takes effect at the next start',
      'breaking store: changed; takes effect at the next start',
      'breaking cookie_keys: removed one',
      'change cookie_keys: added one',
    ]);
    const { config } = await side(PUBLIC);
    expect(settingsForRestart(config, { ...config, listen: { host: '::', port: 1 }, clients: [] })).toEqual([
      'listen',
    ]);
  });

  it('names people who are removed or disabled, and shows nothing private', async () => {
    const [before, disabled] = [await side(PUBLIC, USER()), await side(PUBLIC, USER('  disabled: true\n'))];
    expect(lines(toPlan(before, disabled, NOW))).toEqual([
      'breaking users[alice].disabled: changed from false to true',
    ]);
    expect(toPlan(disabled, before, NOW).result).toBe('changes');
    expect(lines(toPlan(before, await side(PUBLIC, '[]'), NOW))).toEqual(['breaking users[alice]: removed']);
    expect(lines(toPlan(before, await side(PUBLIC, USER('  email: a@example.com\n')), NOW))).toEqual([
      'change users[alice].claims[email]: added one',
    ]);
  });

  it.each([
    'branding: { color: "#123456" }',
    'views: ../custom',
    'signing_keys: { rotate_every: 60d }',
    'trusted_proxies: [10.0.0.0/8]',
    'cors: { allowed_origins: [https://app.example] }',
    'management: { port: 4001 }',
    'audit: file:audit.jsonl',
    'groups: { StaffEU: Employees }',
  ])('does not leave out %s', async (yaml) => {
    const [before, after] = [await side(PUBLIC), await side(`${PUBLIC}${yaml}\n`)];
    expect(toPlan(before, after, NOW).items).toHaveLength(1);
    expect(toPlan(after, before, NOW).items).toHaveLength(1);
  });
});

const hashOf = (secret: string) => `"sha256:${digestOf(secret).toString('hex')}"`;
const withSecrets = (...secrets: string[]) =>
  `${PUBLIC}clients:\n${client({ client_secret: undefined, client_secrets: `[${secrets.join(', ')}]` })}`;

describe('TK-10: a plan for secrets', () => {
  const OLD = `{ hash: ${hashOf(SECRET)}, name: old }`;
  const NEW = `{ hash: ${hashOf(OTHER_SECRET)}, name: new }`;
  const until = (day: string) => OLD.replace(' }', `, expires_at: ${day} }`);

  it('follows a rotation step by step, and breaks only where a secret that lives is removed', async () => {
    expect(lines(await planOf(withSecrets(OLD), withSecrets(OLD, NEW)))).toEqual([
      expect.stringMatching(/^change clients\[web\]\.client_secrets\[new \w{12}\]: added$/),
    ]);
    // The second file has an expired old secret instead of none.
    for (const next of [withSecrets(NEW), withSecrets(until('2025-12-31'), NEW)]) {
      expect(lines(await planOf(withSecrets(OLD, NEW), next))).toEqual([
        expect.stringMatching(/^breaking clients\[web\]\.client_secrets\[old \w{12}\]: removed$/),
      ]);
    }
    expect((await planOf(withSecrets(until('2025-12-31'), NEW), withSecrets(NEW))).result).toBe('nothing');
  });

  it('breaks where a secret that is valid now starts later, or a secret expires sooner', async () => {
    const [sooner, later] = [withSecrets(until('2026-02-10')), withSecrets(until('2026-02-11'))];
    const opens = (day: string) => withSecrets(OLD.replace(' }', `, not_before: ${day} }`));
    const result = async (from: string, to: string) => (await planOf(from, to)).result;
    for (const [from, to] of [
      [later, sooner],
      [withSecrets(OLD), later],
      [opens('2025-01-01'), opens('2099-01-01')],
    ] as const)
      expect([await result(from, to), await result(to, from)]).toEqual(['breaking', 'changes']);
    expect(lines(await planOf(later, sooner))).toEqual([
      expect.stringMatching(/^breaking \S+ \w+\]\.expires_at: changed from 2026-02-11 to 2026-02-10$/),
    ]);
    expect(await result(opens('2098-01-01'), opens('2099-01-01'))).toBe('changes');
    expect(await result(opens('2025-01-01'), withSecrets(OLD))).toBe('nothing');
  });

  it('never shows one', async () => {
    const plan = await planOf(
      `${LOCAL}cookie_keys: [${SECRET}0]\nstore: redis://u:${SECRET}@h\nclients:\n${client({ client_secret: SECRET })}`,
      `${LOCAL}cookie_keys: [${OTHER_SECRET}0]\nstore: redis://u:${OTHER_SECRET}@other\nclients:\n${client({ client_secret: OTHER_SECRET })}`,
    );
    expect(plan.items.length).toBeGreaterThan(3);
    for (const secret of [SECRET, OTHER_SECRET]) expect(JSON.stringify(plan)).not.toContain(secret);
  });
});

const idOf = (name: string) => `usr_${name.padEnd(16, 'x')}`;
const HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
const person = (name: string, more = '') =>
  `- { id: ${idOf(name)}, username: ${name}, password_hash: "${HASH}"${more} }\n`;
const stored = (name: string, groups: readonly string[]) => ({
  id: idOf(name),
  username: name,
  groups,
  disabled: false,
  claims: {},
});

describe('a plan of who may do what', () => {
  const inGroups = (name: string, groups: string) => person(name, `, groups: [${groups}]`);
  const file = (access: string, scopeGroups: string) =>
    `${PUBLIC}groups: { staff: Employees, managers: Managers }
resources:
  - { resource: urn:reports, scopes: [reports.read, reports.write], scope_groups: { reports.write: [${scopeGroups}] } }
clients:
${client({ client_id: 'wiki', ...(access !== '' && { access }) })}`;
  const STAFF = '{ groups: [staff] }';

  it('names who loses and who gains access', async () => {
    const before = ['alice', 'bob', 'carol'].map((name) => inGroups(name, 'staff')).join('');
    const after = `${inGroups('alice', 'staff, managers')}${inGroups('bob', '')}${inGroups('carol', '')}${inGroups('eve', '')}`;
    const rules = file(STAFF, 'managers');
    const plan = toPlan(await side(rules, before), await side(rules, after), NOW);
    expect(lines(plan)).toEqual(
      expect.arrayContaining([
        'breaking clients[wiki]: users who lose access: bob, carol',
        'change resources[urn:reports].scopes.reports.write: users who gain access: alice',
        'change users[bob].groups: removed staff',
      ]),
    );
    expect(lines(plan).join('\n')).not.toMatch(/(lose|gain) access: .*eve/);
    expect(plan.result).toBe('breaking');
  });

  it('looks at people of the store, or says why it could not', async () => {
    const [current, next] = [await side(file('', 'staff')), await side(file(STAFF, 'staff, managers'))];
    const users = [stored('zoe', ['managers', 'gone']), stored('yan', ['staff'])];
    const reachedBy = () => 'password' as const;
    expect(lines(toPlan({ ...current, stored: { users, reachedBy } }, next, NOW))).toEqual([
      'change resources[urn:reports].scope_groups[reports.write]: added managers',
      'change clients[wiki].access: added {"groups":["staff"]}',
      'breaking clients[wiki]: users who lose access: zoe',
      'change resources[urn:reports].scopes.reports.write: users who gain access: zoe',
    ]);
    expect(lines(toPlan({ ...current, stored: { unknown: "can't reach it" } }, next, NOW))).toContainEqual(
      "info store: could not check which users lose access: can't reach it",
    );
  });
});

it('names users in the store who are hidden by a new entry with their username', async () => {
  const users = ['Alice', 'bob', 'carol'].map((name) => stored(name, []));
  const current = {
    ...(await side(PUBLIC, USER().replace('alice', 'bob'))),
    stored: { users, reachedBy: () => 'password' as const },
  };
  // Bob was hidden already, and Carol has moved to the file.
  const next = await side(
    PUBLIC,
    `${USER().replace('alice', 'bob')}${person('carol')}${person('alice').replace('usr_alice', 'usr_other')}`,
  );
  const hidden = 'users: users who are hidden by an entry with their username: Alice';
  expect(lines(toPlan(current, next, NOW)).filter((line) => !line.includes('added'))).toEqual([
    `breaking ${hidden}`,
  ]);
});

describe('a plan of sign-ins', () => {
  const PEOPLE = `${person('alice')}${person('bob')}${person('carol')}${person('dan', ', disabled: true')}`;
  const file = (signIn: string, ofClient = '') =>
    `${PUBLIC}${signIn === '' ? '' : `sign_in: { ${signIn} }\n`}clients:\n${client(ofClient === '' ? {} : { sign_in: `{ ${ofClient} }` })}`;
  const [CODES, BOTH] = ['one_time_codes: true', 'passkeys: true, one_time_codes: true'];

  /** Alice has an authenticator app, Bob a passkey, and Carol nothing. */
  const reachedBy: StoredUsers['reachedBy'] = (signIn, id) => {
    if (id === idOf('carol') || id === idOf('dan')) return 'password';
    if (id === idOf('alice')) return signIn?.oneTimeCodes === true ? 'second_factor' : 'none';
    return signIn?.passkeys === true ? 'passkey' : 'none';
  };
  const linesOf = async (before: string, after: string) =>
    lines(
      toPlan(
        { ...(await side(before, PEOPLE)), stored: { users: [], reachedBy } },
        await side(after, PEOPLE),
        NOW,
      ),
    );

  it.each<[what: string, before: string, after: string, lines: readonly string[]]>([
    [
      'a method that goes',
      file(BOTH),
      file(CODES),
      [
        'breaking sign_in.passkeys: changed from true to false',
        "breaking sign_in: users who can't sign in without another factor: bob",
      ],
    ],
    [
      'a factor that everybody needs',
      file(BOTH),
      file(`${BOTH}, second_factor: required`),
      [
        'change sign_in.second_factor: changed from optional to required',
        "breaking sign_in: users who can't sign in without another factor: carol",
      ],
    ],
    [
      // Carol couldn't sign in before.
      'a stronger factor that an app needs',
      file(BOTH, 'require: second_factor'),
      file(BOTH, 'require: passkey'),
      [
        'breaking clients[web].sign_in.require: changed from second_factor to passkey',
        'breaking clients[web]: users who lose access: alice',
      ],
    ],
  ])('names whom %s locks out', async (_what, before, after, expected) => {
    expect(await linesOf(before, after)).toEqual(expected);
  });
});

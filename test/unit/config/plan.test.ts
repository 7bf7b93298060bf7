import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadConfigWithSources } from '../../../src/config/load.ts';
import { toPlan, type Plan, type PlanSide } from '../../../src/config/plan.ts';
import { settingsForRestart, needsRestart } from '../../../src/config/restart.ts';
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
} from './config-files.ts';

const USER = (keys = '') =>
  `- id: usr_0123456789abcdef\n  username: alice\n  password_hash: $argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc\n${keys}`;

async function side(yaml: string, users?: string): Promise<PlanSide> {
  const file = write(users === undefined ? yaml : `${yaml}users_from: users.yaml\n`, {
    ...(users !== undefined && { 'users.yaml': users }),
  });
  const { config, generatedKeys } = await loadConfigWithSources(file, {
    env: ENV,
    now: NOW,
    writeKeys: false,
  });
  return { config, generatedKeys, folder: dirname(file) };
}

async function planOf(current: string, next: string): Promise<Plan> {
  return toPlan(await side(current), await side(next), NOW);
}

/** `breaking clients[web]: …`, one line an item. */
const lines = ({ items }: Plan) =>
  items.map(({ severity, path, message }) => `${severity} ${path}: ${message}`);

const BASE = `${PUBLIC}${RESOURCES}`;
const WEB: Readonly<Record<string, string>> = {
  redirect_uris: '[https://app.example/callback, https://app.example/other]',
  post_logout_redirect_uris: '[https://app.example/]',
  grant_types: '[authorization_code, refresh_token]',
  scope: 'openid email offline_access reports.read',
  allowed_cors_origins: '[https://app.example]',
};
const withWeb = (keys: Record<string, string | undefined> = {}) =>
  `${BASE}clients:\n${client({ ...WEB, ...keys })}`;

const named = (resource: string, more = '') =>
  `${PUBLIC}resources:\n  - { resource: ${resource}, scopes: [reports.read, reports.write]${more} }\n`;

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
    expect(lines(plan)).toEqual(['breaking clients[web]: is removed', 'change clients[svc]: is new']);
  });

  it.each<[what: string, keys: Record<string, string>, line: RegExp]>([
    [
      'a redirect URI',
      { redirect_uris: '[https://app.example/callback]' },
      /^breaking .*redirect_uris: https:\/\/app\.example\/other is removed$/,
    ],
    [
      'a sign-out URI',
      { post_logout_redirect_uris: '[]' },
      /^breaking .*post_logout_redirect_uris: .* is removed$/,
    ],
    ['a scope', { scope: 'openid offline_access reports.read' }, /^breaking .*\.scope: email is removed$/],
    [
      'a grant',
      { grant_types: '[authorization_code]', scope: 'openid email reports.read' },
      /^breaking .*grant_types: refresh_token is removed$/,
    ],
    [
      'an origin',
      { allowed_cors_origins: '[]' },
      /^breaking .*allowed_cors_origins: https:\/\/app\.example is removed$/,
    ],
    [
      'the way to authenticate',
      { token_endpoint_auth_method: 'client_secret_post' },
      /^breaking .*auth_method: client_secret_basic becomes client_secret_post$/,
    ],
  ])('calls it breaking when %s is dropped or another', async (_what, keys, line) => {
    const plan = await planOf(withWeb(), withWeb(keys));
    expect(plan.result).toBe('breaking');
    expect(lines(plan)).toContainEqual(expect.stringMatching(line));
    // The other way round adds what was dropped: no harm, except for who authenticates otherwise.
    const back = await planOf(withWeb(keys), withWeb());
    expect(back.result).toBe('token_endpoint_auth_method' in keys ? 'breaking' : 'changes');
  });

  it('says what ends with a host of client documents, and what with a pinned one', async () => {
    const pinned = client({
      client_id: 'https://docs.example/client.json',
      client_secret: undefined,
      token_endpoint_auth_method: 'none',
    });
    const listing = (hosts: string, scope = 'openid reports.read') =>
      `${BASE}client_documents: { hosts: [${hosts}], scope: ${scope} }\n`;
    const two = listing('docs.example, other.example');
    expect((await planOf(BASE, two)).result).toBe('changes');
    expect(lines(await planOf(two, listing('docs.example')))).toEqual([
      'breaking client_documents.hosts: other.example is removed',
    ]);
    expect((await planOf(two, BASE)).result).toBe('breaking');
    expect(lines(await planOf(two, listing('docs.example, other.example', 'openid')))).toEqual([
      'breaking client_documents.scope: reports.read is removed',
    ]);
    expect(lines(await planOf(`${two}clients:\n${pinned}`, two))).toEqual([
      'change clients[https://docs.example/client.json]: is removed',
    ]);
    expect(lines(await planOf(`${BASE}clients:\n${pinned}`, BASE))).toEqual([
      'breaking clients[https://docs.example/client.json]: is removed',
    ]);
  });

  it('names PKCE and consent', async () => {
    const head = BASE.replace('issuer:', 'features: { pkce: per_client }\nissuer:');
    const plain = `${head}clients:\n${client({ require_pkce: 'false', consent: 'implicit' })}`;
    expect(lines(await planOf(plain, `${head}clients:\n${client()}`))).toEqual([
      'breaking clients[web].require_pkce: false becomes true',
      'change clients[web].consent: implicit becomes explicit',
    ]);
  });

  it('writes durations as the file does, and calls none breaking', async () => {
    const plan = await planOf(
      `${PUBLIC}lifetimes: { access_token: 30m, refresh_token: 14d }\n`,
      `${PUBLIC}lifetimes: { access_token: 10m, refresh_token: 1d, refresh_token_absolute: 30d }\n`,
    );
    expect(plan.result).toBe('changes');
    expect(lines(plan)).toEqual([
      'change lifetimes.access_token: 30m becomes 10m',
      'change lifetimes.refresh_token: 14d becomes 1d',
      'change lifetimes.refresh_token_absolute: 90d becomes 30d',
    ]);
  });

  it('sees a renamed audience, a scope that moves and an introspection client that is removed', async () => {
    expect(lines(await planOf(named('urn:old'), named('urn:new')))).toEqual([
      'breaking resources[urn:old]: is removed',
      'change resources[urn:new]: is new',
    ]);
    const moved = `${PUBLIC}resources:\n  - { resource: urn:old, scopes: [reports.read] }\n  - { resource: urn:new, scopes: [reports.write] }\n`;
    expect(lines(await planOf(named('urn:old'), moved))).toContain(
      'breaking resources[urn:old].scopes: reports.write is removed',
    );
    const api = `clients:\n${client()}`;
    const introspected = `${named('urn:old', ', introspection_clients: [web]')}${api}`;
    expect(lines(await planOf(introspected, `${named('urn:old')}${api}`))).toEqual([
      'breaking resources[urn:old].introspection_clients: web is removed',
    ]);
    const bare = (clients: string) =>
      `${PUBLIC}resources: [{ resource: urn:old, clients: [${clients}] }]\n${api}`;
    expect(lines(await planOf(bare('web'), bare('')))).toEqual([
      'breaking resources[urn:old].clients: web is removed',
    ]);
    const lived = (time: string) => named('urn:old', `, access_token: ${time}`);
    expect(lines(await planOf(lived('30m'), lived('5m')))).toEqual([
      'change resources[urn:old].access_token: 30m becomes 5m',
    ]);
  });

  it('knows what a change of address, keys or store costs', async () => {
    const plan = await planOf(
      PUBLIC,
      `issuer: https://login.example\nencryption_keys: [env:ENCRYPTION_KEY]\ncookie_keys: [env:WEB_SECRET]\nstore: redis://redis.example\nlisten: { port: 4000 }\n`,
    );
    expect(lines(plan)).toEqual([
      'breaking issuer: https://id.example becomes https://login.example; takes effect at the next start',
      'change listen.port: 3000 becomes 4000; takes effect at the next start',
      'breaking store: changes; takes effect at the next start',
      'breaking cookie_keys: one is removed',
      'change cookie_keys: one is new',
    ]);
    const { config } = await side(PUBLIC);
    expect(settingsForRestart(config, { ...config, listen: { host: '::', port: 1 }, clients: [] })).toEqual([
      'listen',
    ]);
    expect(['listen.port', 'encryption_keys[0]', 'lifetimes.session'].map(needsRestart)).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('lets cookie keys overlap', async () => {
    const rotated = PUBLIC.replace('[env:COOKIE_KEY]', '[env:WEB_SECRET, env:COOKIE_KEY]');
    expect(lines(await planOf(PUBLIC, rotated))).toEqual(['change cookie_keys: one is new']);
    expect(lines(await planOf(rotated, rotated.replace(', env:COOKIE_KEY', '')))).toEqual([
      'breaking cookie_keys: one is removed',
    ]);
  });

  it('names people who are removed, disabled or renamed', async () => {
    const [before, disabled] = [await side(PUBLIC, USER()), await side(PUBLIC, USER('  disabled: true\n'))];
    expect(lines(toPlan(before, disabled, NOW))).toEqual([
      'breaking users[alice].disabled: false becomes true',
    ]);
    expect(lines(toPlan(disabled, before, NOW))).toEqual([
      'change users[alice].disabled: true becomes false',
    ]);
    expect(lines(toPlan(before, await side(PUBLIC, '[]'), NOW))).toEqual([
      'breaking users[alice]: is removed',
      'breaking users, clients_from: the configuration has lost all users (1)',
    ]);
    expect(lines(toPlan(before, await side(PUBLIC, USER('  email: a@example.com\n')), NOW))).toEqual([
      'change users[alice].claims.email: changes',
    ]);
  });

  it('names what ID tokens are signed with', async () => {
    const signed = (algorithms: string, alg: string) =>
      `${PUBLIC}signing_keys: { algorithms: [${algorithms}] }\nclients:\n${client({ id_token_signed_response_alg: alg })}`;
    const [old, changed] = [signed('RS256, ES256', 'ES256'), signed('EdDSA, RS256', 'EdDSA')];
    expect(lines(await planOf(old, changed))).toEqual([
      'change signing_keys.algorithms: ES256 is removed',
      'change signing_keys.algorithms: EdDSA is new',
      'breaking clients[web].id_token_signed_response_alg: ES256 becomes EdDSA',
    ]);
    expect(
      (await planOf(signed('RS256, ES256', 'ES256'), signed('ES256, RS256, ES256', 'ES256'))).result,
    ).toBe('nothing');
  });

  it('leaves no setting out, whatever it is', async () => {
    for (const yaml of [
      'rate_limits: { token: { client: 1/1m } }',
      'rate_limits: { sign_in: { account_failures: 1/1m } }',
      'branding: { color: "#123456" }',
      'views: ../custom',
      'signing_keys: { rotate_every: 60d }',
      'lifetimes: { session: 1h }',
      'trusted_proxies: [10.0.0.0/8]',
      'cors: { allowed_origins: [https://app.example] }',
      'features: { client_credentials: false }',
      'management: { port: 4001 }',
      'audit: file:audit.jsonl',
    ]) {
      const [before, after] = [await side(PUBLIC), await side(`${PUBLIC}${yaml}\n`)];
      expect(toPlan(before, after, NOW).items, yaml).toHaveLength(1);
      expect(toPlan(after, before, NOW).items, yaml).toHaveLength(1);
    }
    expect(lines(await planOf(PUBLIC, `${PUBLIC}audit: file:audit.jsonl\n`))).toEqual([
      'change audit: auto becomes file:audit.jsonl; takes effect at the next start',
    ]);
    const logo = client({ logo_uri: 'https://app.example/l.svg' });
    expect(lines(await planOf(`${PUBLIC}clients:\n${client()}`, `${PUBLIC}clients:\n${logo}`))).toEqual([
      'change clients[web].logo_uri: nothing becomes https://app.example/l.svg',
    ]);
  });
});

const hashOf = (secret: string) => `"sha256:${digestOf(secret).toString('hex')}"`;
const withSecrets = (...secrets: string[]) =>
  `${PUBLIC}clients:\n${client({ client_secret: undefined, client_secrets: `[${secrets.join(', ')}]` })}`;

describe('TK-10: a plan for secrets', () => {
  const OLD = `{ hash: ${hashOf(SECRET)}, name: old }`;
  const NEW = `{ hash: ${hashOf(OTHER_SECRET)}, name: new }`;

  it('follows a rotation step by step, and breaks only where a secret that lives is removed', async () => {
    const begun = await planOf(withSecrets(OLD), withSecrets(OLD, NEW));
    expect(lines(begun)).toEqual(['change clients[web].client_secrets[new]: is new']);
    const ended = await planOf(withSecrets(OLD, NEW), withSecrets(NEW));
    expect(lines(ended)).toEqual(['breaking clients[web].client_secrets[old]: is removed']);
    expect([begun.result, ended.result]).toEqual(['changes', 'breaking']);
  });

  it('removes an expired one without a fuss', async () => {
    const expired = OLD.replace(' }', ', expires_at: 2025-12-31 }');
    expect((await planOf(withSecrets(expired, NEW), withSecrets(NEW))).result).toBe('changes');
  });

  it('warns of one that ends within 14 days, even when nothing changes', async () => {
    const soon = OLD.replace(' }', ', expires_at: 2026-01-10 }');
    const later = OLD.replace(' }', ', expires_at: 2026-02-10 }');
    expect(await planOf(withSecrets(soon, NEW), withSecrets(soon, NEW))).toEqual({
      result: 'nothing',
      items: [
        {
          severity: 'info',
          path: 'clients[web].client_secrets',
          message: 'client web: secret old expires 2026-01-10',
        },
      ],
    });
    expect((await planOf(withSecrets(later), withSecrets(later))).items).toEqual([]);
    expect(lines(await planOf(withSecrets(soon), withSecrets(soon)))[0]).toContain('and it has no other');
  });

  it('knows that an end in the past ends it now', async () => {
    const cut = OLD.replace(' }', ', expires_at: 2025-12-31 }');
    const plan = await planOf(withSecrets(OLD, NEW), withSecrets(cut, NEW));
    expect(lines(plan)).toEqual([
      'breaking clients[web].client_secrets[old].expires_at: no limit becomes 2025-12-31',
    ]);
  });

  it('never shows one', async () => {
    const plan = await planOf(
      `${LOCAL}cookie_keys: [${SECRET}]\nstore: redis://u:${SECRET}@h\nclients:\n${client({ client_secret: SECRET })}`,
      `${LOCAL}cookie_keys: [${OTHER_SECRET}]\nstore: redis://u:${OTHER_SECRET}@other\nclients:\n${client({ client_secret: OTHER_SECRET })}`,
    );
    expect(plan.items.length).toBeGreaterThan(3);
    for (const secret of [SECRET, OTHER_SECRET]) expect(JSON.stringify(plan)).not.toContain(secret);
  });
});

describe('a plan of who may do what', () => {
  const HASH =
    '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
  const person = (name: string, groups: string) =>
    `- { id: usr_${name.padEnd(16, 'x')}, username: ${name}, password_hash: "${HASH}", groups: [${groups}] }\n`;
  const file = (access: string, scopeGroups: string) =>
    `${PUBLIC}groups: { staff: Employees, managers: Managers }
resources:
  - { resource: urn:reports, scopes: [reports.read, reports.write], scope_groups: { reports.write: [${scopeGroups}] } }
clients:
${client({ client_id: 'wiki', ...(access !== '' && { access }) })}`;
  const STAFF = '{ groups: [staff] }';

  it('names who loses and who gains', async () => {
    const before = ['alice', 'bob', 'carol', 'dan'].map((name) => person(name, 'staff')).join('');
    const after = `${person('alice', 'staff, managers')}${person('bob', '')}${person('carol', '')}${person('dan', '')}${person('eve', '')}`;
    const plan = toPlan(
      await side(file(STAFF, 'managers'), before),
      await side(file(STAFF, 'managers'), after),
      NOW,
    );
    expect(lines(plan)).toEqual(
      expect.arrayContaining([
        'breaking clients[wiki].access: 3 people of the file lose wiki (bob, carol, dan)',
        'change resources[urn:reports].scope_groups.reports.write: alice gains reports.write',
        'change users[bob].groups: staff is removed',
      ]),
    );
    expect(lines(plan).join('\n')).not.toMatch(/eve.*(loses|gains)/);
    expect(plan.result).toBe('breaking');
  });

  it('cuts long lists', async () => {
    const many = Array.from({ length: 47 }, (_, index) => person(`p${index}`, '')).join('');
    const plan = toPlan(await side(file('', 'staff'), many), await side(file(STAFF, 'staff'), many), NOW);
    expect(lines(plan)).toEqual([
      'change clients[wiki].access: nothing becomes {"groups":["staff"]}',
      'breaking clients[wiki].access: 47 people of the file lose wiki (p0, p1, p2, p3, p4, p5, p6, p7, p8, p9, and 37 more)',
    ]);
  });

  it('counts people of the store, or says why it could not', async () => {
    const [current, next] = [await side(file('', 'staff')), await side(file(STAFF, 'staff, managers'))];
    const stored = (id: string, username: string, groups: string[]) => ({
      id,
      username,
      groups,
      disabled: false,
      passwordHash: HASH,
      claims: {},
    });
    const storePeople = [stored('usr_1', 'zoe', ['managers', 'gone']), stored('usr_2', 'yan', ['staff'])];
    expect(lines(toPlan({ ...current, storePeople }, next, NOW))).toEqual([
      'change resources[urn:reports].scope_groups.reports.write: managers is new',
      'change clients[wiki].access: nothing becomes {"groups":["staff"]}',
      'breaking clients[wiki].access: zoe of the store loses wiki',
      'change resources[urn:reports].scope_groups.reports.write: zoe of the store gains reports.write',
    ]);
    const unknown = { ...current, storePeople: { unknown: "can't reach it" } };
    expect(lines(toPlan(unknown, next, NOW))).toContainEqual(
      "info store: who of its people loses or gains something is not known: can't reach it",
    );
  });

  it('shows the names of the file as they are', async () => {
    const groups = (name: string) =>
      `${PUBLIC}groups: { ${name}: Employees }\nscopes: { Disk: { claims: [quotaMb] } }\n`;
    const plan = toPlan(await side(groups('StaffEU')), await side(groups('StaffUS')), NOW);
    expect(lines(plan)).toEqual([
      'change groups.StaffEU: Employees becomes nothing',
      'change groups.StaffUS: nothing becomes Employees',
    ]);
    const keys = ['groups', 'scopes', 'resources[a].access', 'clients[a].default_scope', 'users[a].groups'];
    expect(keys.filter(needsRestart)).toEqual([]);
  });

  it('calls a default that goes breaking', async () => {
    const plan = await planOf(
      withWeb({ default_scope: 'openid email' }),
      withWeb({ default_scope: 'openid' }),
    );
    expect(lines(plan)).toEqual(['breaking clients[web].default_scope: email is removed']);
  });
});

describe('a plan of sign-ins', () => {
  const HASH =
    '$argon2id$v=19$m=19456,t=2,p=1$ps9143tS47zlDbRF2wbzKQ$qEUQEy7qYWUXUeNFjn7fIzTZjvYjeDcc1C1wUTUvnZc';
  const idOf = (name: string) => `usr_${name.padEnd(16, 'x')}`;
  const person = (name: string, more = '') =>
    `- { id: ${idOf(name)}, username: ${name}, password_hash: "${HASH}"${more} }\n`;
  const PEOPLE = `${person('alice')}${person('bob')}${person('carol')}${person('dan', ', disabled: true')}`;
  const file = (signIn: string, ofClient = '', more = '') =>
    `${PUBLIC}${more}${signIn === '' ? '' : `sign_in: { ${signIn} }\n`}clients:\n${client(ofClient === '' ? {} : { sign_in: `{ ${ofClient} }` })}`;
  const [CODES, BOTH] = ['one_time_codes: true', 'passkeys: true, one_time_codes: true'];

  /** Alice has an authenticator app, Bob a passkey, and Carol nothing. */
  const reachedBy: PlanSide['reachedBy'] = (signIn, id) => {
    if (signIn === undefined || id === idOf('carol') || id === idOf('dan')) return 'password';
    if (id === idOf('alice')) return signIn.oneTimeCodes ? 'second_factor' : 'none';
    return signIn.passkeys ? 'passkey' : 'none';
  };
  const linesOf = async (before: string, after: string, users = PEOPLE) =>
    lines(toPlan({ ...(await side(before, users)), reachedBy }, await side(after, users), NOW));

  it('says what methods that come and go do, and names who can sign in no more', async () => {
    expect(await linesOf(file(''), file(BOTH))).toEqual([expect.stringMatching(/^change sign_in: nothing /)]);
    expect(await linesOf(file(BOTH), file(CODES))).toEqual([
      'breaking sign_in.passkeys: true becomes false',
      "breaking sign_in: bob can't sign in any more: the factors that they have are switched off",
    ]);
    expect(await linesOf(file(BOTH), file(''))).toEqual([
      expect.stringMatching(/^breaking sign_in: .* nothing$/),
    ]);
    expect(await linesOf(file(BOTH), file(`${BOTH}, recovery_codes: 5, grace: 7d`))).toEqual([
      'change sign_in.recovery_codes: 0 becomes 5',
      'change sign_in.grace: 14d becomes 7d',
    ]);
    expect(await linesOf(file(`${BOTH}, recovery_codes: 5`), file(BOTH))).toEqual([
      'breaking sign_in.recovery_codes: 5 becomes 0',
    ]);
  });

  it('names who lacks what an app requires, and what they have to do', async () => {
    const [passkey, second] = ['require: passkey', 'require: second_factor, max_age: 12h'];
    expect(await linesOf(file(BOTH), file(BOTH, second))).toEqual([
      expect.stringMatching(/^breaking clients\[web\]\.sign_in: nothing becomes .*second_factor/),
      'breaking clients[web].sign_in: carol can\'t sign in to web before they follow a link of "postern user enrol"',
    ]);
    expect(await linesOf(file(BOTH, second), file(BOTH, passkey))).toEqual([
      'breaking clients[web].sign_in.require: second_factor becomes passkey',
      'change clients[web].sign_in.max_age: 12h becomes nothing',
      // Carol couldn't before.
      'change clients[web].sign_in: alice must add a passkey at the next sign-in to web',
    ]);
    const self = `${BOTH}, enrolment: self`;
    expect(await linesOf(file(self), file(self, second))).toContainEqual(
      'change clients[web].sign_in: carol must add a second factor at the next sign-in to web',
    );
    expect(await linesOf(file(BOTH, passkey), file(BOTH))).toEqual([
      expect.stringMatching(/^change clients\[web\]\.sign_in: .* becomes nothing$/),
    ]);
  });

  it('names who has no factor where everybody needs one', async () => {
    expect(await linesOf(file(BOTH), file(`${BOTH}, second_factor: required`))).toEqual([
      'change sign_in.second_factor: optional becomes required',
      'breaking sign_in.second_factor: carol must follow a link of "postern user enrol" within 14d, or can\'t sign in after that',
    ]);
    const self = `${BOTH}, enrolment: self`;
    expect(await linesOf(file(self), file(`${self}, second_factor: required`))).toContainEqual(
      'change sign_in.second_factor: carol must add a second factor within 14d',
    );
  });

  it('calls another name of a level and a password that goes breaking', async () => {
    const withName = (urn: string) => file(BOTH, '', `acr: { passkey: ${urn} }\n`);
    expect((await linesOf(file(BOTH), withName('urn:a')))[0]).toMatch(/^change acr: /);
    expect(await linesOf(withName('urn:a'), withName('urn:b'))).toEqual([
      'breaking acr.passkey: urn:a becomes urn:b',
    ]);
    const without = person('alice').replace(`, password_hash: "${HASH}"`, '');
    const [before, after] = [await side(file(BOTH), person('alice')), await side(file(BOTH), without)];
    expect(lines(toPlan(before, after, NOW))).toEqual(['breaking users[alice].password_hash: changes']);
  });

  it('says why it could not look', async () => {
    const unknown = { ...(await side(file(BOTH))), reachedBy: { unknown: "can't reach it" } };
    expect(lines(toPlan(unknown, await side(file(CODES)), NOW))).toContainEqual(
      "info store: whom a change of sign-ins locks out is not known: can't reach it",
    );
  });
});

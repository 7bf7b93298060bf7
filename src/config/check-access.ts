// Checks groups, the keys that name groups, and the claims of scopes.
import type { Entries } from './included-files.ts';
import { SPECIFICATION_SCOPES } from './config.ts';
import { type Entry, lookFault, reportUnknown } from './rules.ts';
import type { ClientForm, ResourceForm } from './schema-client.ts';
import { STANDARD_CLAIMS, type UserForm } from './schema-user.ts';
import type { ServiceForm } from './schema.ts';
import { labelFault, scopeTokenFault } from './text.ts';
import { quoted } from './yaml.ts';

/** The parts of the configuration that could be read: the file itself, and its lists. */
export type Parts = Readonly<{
  service: Entry<ServiceForm>;
  clients: Entries<ClientForm>;
  resources: Entries<ResourceForm>;
  users: Entries<UserForm>;
}>;

/** Reports each invalid or unknown name of a group, claim or scope. */
export function checkAccess({ service, clients, resources, users }: Parts): void {
  checkGroups(service);
  checkScopes(service);
  const all = Object.keys(service.value.groups);
  const choice = all.length > 0 ? `use one of ${all.slice(0, 10).join(', ')}, or ` : '';
  const groups = [new Set(all), (one: string) => `unknown group ${one}: ${choice}add it to groups`] as const;
  for (const client of clients.list) {
    const { access, groups_claim: visible } = client.value;
    reportUnknown(client, ['access', 'groups'], access?.groups, groups);
    reportUnknown(client, ['groups_claim'], visible, groups);
  }
  const custom = Object.values(service.value.scopes).flatMap(({ claims }) => claims);
  const known = new Set(['groups', ...STANDARD_CLAIMS, ...custom]);
  const claims = [known, (name: string) => `unknown claim ${name}: add it to scopes`] as const;
  for (const resource of resources.list) {
    const { access, scope_groups: rules, access_token_claims: ofTokens } = resource.value;
    reportUnknown(resource, ['access', 'groups'], access?.groups, groups);
    for (const [scope, some] of Object.entries(rules))
      reportUnknown(resource, ['scope_groups', scope], some, groups);
    reportUnknown(resource, ['access_token_claims'], ofTokens, claims);
  }
  for (const user of users.list) {
    reportUnknown(user, ['groups'], user.value.groups, groups);
    for (const name of Object.keys(user.value.claims)) {
      const fault = customClaimFault(name);
      if (fault) user.report(['claims', name], fault, 'key');
    }
  }
}

function checkGroups({ value, report }: Entry<ServiceForm>): void {
  const noted = new Map<string, string>();
  for (const name of Object.keys(value.groups)) {
    const fault = lookFault(noted, name) ?? groupNameFault(name);
    if (fault) report(['groups', name], `the name ${fault}`, 'key');
  }
}

/** Why the name of a group is invalid. Commas separate groups in the headers of proxies. */
function groupNameFault(name: string): string | undefined {
  return (
    labelFault(name) ??
    (name.includes(',') || name.trim() !== name ? 'must not have commas or outer spaces' : undefined)
  );
}

/** Scopes that can't be redefined. The key `groups` turns on the scope `groups`. */
const TAKEN_SCOPES = ['openid', 'offline_access', 'groups', 'address', 'phone'];

function checkScopes({ value, report }: Entry<ServiceForm>): void {
  const noted = new Map([...TAKEN_SCOPES, ...SPECIFICATION_SCOPES].map((scope) => [scope, scope]));
  for (const [scope, { claims }] of Object.entries(value.scopes)) {
    const place = ['scopes', scope];
    const own = TAKEN_SCOPES.includes(scope) ? 'is reserved: choose another name' : scopeTokenFault(scope);
    const fault = own ?? lookFault(noted, scope);
    if (fault) report(place, `the scope ${fault}`, 'key');
    for (const [index, name] of claims.entries()) {
      const wrong = customClaimFault(name);
      if (wrong) report([...place, 'claims', index], wrong);
    }
  }
}

/**
 * Claims of tokens, introspection and userinfo that are not about the user: RFC 7519 §4.1, RFC 9068 §2.2, RFC 7662 §2.2, RFC 8693 §4, RFC 7800 §3,
 * RFC 8417 §2.2, OpenID Connect Core §2, §3.1.3.6, §5.6.2, and its logout and FAPI extensions.
 */
const PROTOCOL_CLAIMS: ReadonlySet<string> = new Set(
  [
    'iss sub aud exp nbf iat jti client_id scope active username token_type',
    'nonce acr amr auth_time azp sid at_hash c_hash s_hash rt_hash sub_jwk _claim_names _claim_sources',
    'cnf act may_act events toe txn sub_id authorization_details grant_id extra typ',
  ].flatMap((names) => names.split(' ')),
);

/** The claim of the scope `groups`, and the claims of OpenID Connect Core §5.1 that aren't supported. */
const OTHER_CLAIMS = ['groups', 'address', 'phone_number', 'phone_number_verified'];

function customClaimFault(name: string): string | undefined {
  const lower = name.toLowerCase();
  if (PROTOCOL_CLAIMS.has(lower) || STANDARD_CLAIMS.includes(lower) || OTHER_CLAIMS.includes(lower))
    return `the claim ${quoted(name)} is reserved: choose another name`;
  return /^[A-Za-z0-9_][\w.:/-]{0,199}$/.test(name) && !(name in Object.prototype)
    ? undefined
    : 'the name of a claim must be 1 to 200 letters, digits or _ . : / -, and no word of JavaScript';
}

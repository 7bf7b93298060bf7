// Combines a file without problems with the values that its references resolve to.
import { resolve } from 'node:path';
import { camelKeys } from './camel-keys.ts';
import type { Parts } from './check-access.ts';
import { applicationTypeOf } from './check-clients.ts';
import type { AuditConfig, Client, ClientSecret, Config, StoreConfig, UserEntry } from './config.ts';
import type { ClientForm } from './schema-client.ts';
import type { KeyName } from './service-keys.ts';
import type { UserForm } from './schema-user.ts';

type Sources = Pick<Config, 'store' | 'clients' | 'notices'> &
  Readonly<{
    keys: Readonly<Record<KeyName, readonly string[]>>;
    /** The values that the keys of features refer to. */
    read: object;
  }>;

/** The configuration as the rest of the service sees it. */
export function toConfig({ service, resources, users }: Parts, sources: Sources): Config {
  const { store, keys, clients, read, notices } = sources;
  const { folder, value } = service;
  const { $schema: _, clients_from: _from, users_from: usersFrom, views, ...form } = value;
  return {
    ...camelKeys(form),
    ...read,
    store,
    audit: toAudit(form.audit, folder, store),
    encryptionKeys: keys.encryption_keys.map((key) => Buffer.from(key, 'base64url')),
    cookieKeys: keys.cookie_keys,
    resources: resources.list.map((entry) => camelKeys(entry.value)),
    clients,
    users: users.list.map((entry) => toUser(entry.value)),
    usersFrom: usersFrom && resolve(folder, usersFrom),
    viewsFolder: views && resolve(folder, views),
    notices,
  };
}

function toAudit(audit: string, folder: string, store: StoreConfig): AuditConfig {
  if (audit === 'stdout' || audit === 'off') return { to: audit };
  if (audit === 'auto') {
    return { to: audit, file: store.engine === 'lmdb' ? resolve(store.folder, 'audit.jsonl') : undefined };
  }
  return { to: 'file', file: resolve(folder, audit.slice('file:'.length)) };
}

/** Converts a client of the file, or a client from another source in the same form. */
export function toClient(form: ClientForm, secrets: readonly ClientSecret[]): Client {
  const {
    scope: scopes,
    default_scope: defaultScopes,
    client_secret: _one,
    client_secrets: _many,
    ...fields
  } = form;
  return { ...camelKeys(fields), scopes, defaultScopes, applicationType: applicationTypeOf(form), secrets };
}

export function toUser(form: UserForm): UserEntry {
  const { id, username, password_hash: passwordHash, disabled, groups, claims: custom, ...standard } = form;
  const sorted = [...new Set(groups)].toSorted();
  return { id, username, passwordHash, disabled, groups: sorted, claims: { ...custom, ...standard } };
}

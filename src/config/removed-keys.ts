// Keys and notations of earlier versions. A file that has one still loads, and one line says what holds instead.
import type { SourceDocument } from './document.ts';
import { isRecord } from './parse-fields.ts';
import type { Path } from './problems.ts';

/** What holds instead. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  ['refresh_token_grace', 'a refresh token works once'],
  ['features.claims_parameter', 'apps ask for scopes'],
  ['features.client_credentials', 'grant_types of each client say it'],
  ['features.pkce', 'require_pkce: false of a confidential client is enough'],
  ['lifetimes.authorization_code', 'always 60s'],
  ['lifetimes.id_token', 'always 1h'],
  ['lifetimes.interaction', 'always 10m'],
  ['signing_keys.jwks_max_age', 'always 5m'],
  ['hsts_include_subdomains', 'a proxy may add it'],
  ['log.format', 'JSON'],
  ['acr', 'urn:postern:acr:password, second-factor and passkey, where there is sign_in'],
  ['branding.logo_dark', 'a style sheet in your views shows another one'],
  ['branding.favicon', 'a file icon.svg in the assets of your views replaces it'],
  ['branding.support_text', 'the link says links.help'],
  ['clients[].allowed_cors_origins', 'list them in cors.allowed_origins'],
  ['resources[].introspection_username', 'the scope profile gives username'],
  ['rate_limits.dry_run', 'limits are always enforced'],
  ['clients[].rate_limits.revocation', 'rate_limits.revocation holds for every client'],
]);

/** What was several rates and is one: the member that is used. */
const MAIN_RATES: ReadonlyMap<string, string> = new Map([
  ['rate_limits.token', 'client'],
  ['rate_limits.introspection', 'client'],
  ['rate_limits.revocation', 'client'],
  ['rate_limits.userinfo', 'address'],
  ['rate_limits.authorization', 'address'],
  ['rate_limits.logout', 'address'],
  ['rate_limits.sign_in', 'account_failures'],
]);

const KEYS = [...REMOVED.keys(), ...MAIN_RATES.keys()];

/** What `document` says in the terms of this version. `kind`: of what a file with a list is a list. */
export function withoutRemoved(document: SourceDocument, notices: string[], kind = ''): unknown {
  const found = new Map<string, { said: string; count: number }>();

  function note(key: string, path: Path, what: string): void {
    const place = () => `${document.file}:${document.locate(path, 'key').line}`;
    const { said, count } = found.get(key) ?? { said: `${place()} ${key} ${what}`, count: 0 };
    found.set(key, { said, count: count + 1 });
  }

  function strip(node: unknown, above: string, path: Path): unknown {
    if (typeof node !== 'object' || !KEYS.some((key) => key.startsWith(above))) return node;
    if (Array.isArray(node)) return node.map((one, index) => strip(one, `${above}[]`, [...path, index]));
    if (!isRecord(node)) return node;
    const entries = Object.entries(node).flatMap(([name, value]): [string, unknown][] => {
      const key = above === '' ? name : `${above}.${name}`;
      const at = [...path, name];
      const [instead, main] = [REMOVED.get(key), MAIN_RATES.get(key)];
      if (instead !== undefined) {
        note(key, at, `has no effect any more: ${instead}. Remove it.`);
        return [];
      }
      if (main === undefined || !isRecord(value)) return [[name, strip(value, key, at)]];
      note(key, at, `is one rate now: write that of ${main}, which is used; the others follow from it.`);
      return main in value ? [[name, value[main]]] : [];
    });
    return Object.fromEntries(entries);
  }

  const content = strip(document.content, Array.isArray(document.content) ? kind : '', []);
  for (const { said, count } of found.values())
    notices.push(count === 1 ? said : `${said} The file has it ${count} times.`);
  return content;
}

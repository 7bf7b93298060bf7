// Keys and notations of earlier versions. A file with one of them still loads, with a warning that names the replacement.
import type { SourceDocument } from './document.ts';
import { isRecord } from './parse-fields.ts';
import type { Path } from './problems.ts';

/** Removed keys, each with the reason or the replacement. */
const REMOVED: ReadonlyMap<string, string> = new Map([
  ['refresh_token_grace', 'refresh tokens are single-use'],
  ['features.claims_parameter', 'apps request scopes instead'],
  ['features.client_credentials', 'use grant_types of each client'],
  ['features.pkce', 'use require_pkce: false in a confidential client'],
  ['lifetimes.authorization_code', 'always 60s'],
  ['lifetimes.id_token', 'always 1h'],
  ['lifetimes.interaction', 'always 10m'],
  ['signing_keys.jwks_max_age', 'always 5m'],
  ['hsts_include_subdomains', 'set it in your proxy'],
  ['log.format', 'the log is always JSON'],
  ['acr', 'with sign_in, tokens have the acr of the sign-in'],
  ['branding.logo_dark', 'use a style sheet in your views'],
  ['branding.favicon', 'put icon.svg into the assets of your views'],
  ['branding.support_text', 'change the text links.help in your views'],
  ['clients[].allowed_cors_origins', 'use cors.allowed_origins'],
  ['resources[].introspection_username', 'username is part of the scope profile'],
  ['rate_limits.dry_run', 'limits are always enforced'],
  ['clients[].rate_limits.revocation', 'rate_limits.revocation applies to all clients'],
]);

/** Limits that had several rates, each with the one that is used now. */
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

/** Converts the content of `document` to the notation of this version. `kind`: the key of the list, if the file is only a list. */
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
        note(key, at, `no longer has an effect: remove it (${instead})`);
        return [];
      }
      if (main === undefined || !isRecord(value)) return [[name, strip(value, key, at)]];
      note(key, at, `is a single rate now: replace it with the value of ${main}, which is used`);
      return main in value ? [[name, value[main]]] : [];
    });
    return Object.fromEntries(entries);
  }

  const content = strip(document.content, Array.isArray(document.content) ? kind : '', []);
  for (const { said, count } of found.values())
    notices.push(count === 1 ? said : `${said}. The file has it ${count} times.`);
  return content;
}

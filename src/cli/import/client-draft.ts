// A client as another provider's file has it, and how to take values out of a file that isn't validated.
import { isRecord } from '../../config/parse-fields.ts';

export type ImportedSecret =
  | { readonly kind: 'plain'; readonly value: string }
  | { readonly kind: 'argon2id'; readonly phc: string }
  | { readonly kind: 'env'; readonly name: string };

export type ClientDraft = {
  readonly clientId: string;
  readonly clientName?: string | undefined;
  readonly secret?: ImportedSecret | undefined;
  readonly redirectUris: readonly string[];
  readonly postLogoutRedirectUris: readonly string[];
  readonly corsOrigins: readonly string[];
  readonly grantTypes: readonly string[];
  readonly authMethod: 'client_secret_basic' | 'client_secret_post' | 'none';
  readonly scopes: readonly string[];
  readonly consent: 'explicit' | 'implicit';
  /** The only people who may use it, where the source says so by groups alone. */
  readonly accessGroups?: readonly string[] | undefined;
  /** What could not be imported, and why. */
  readonly notes: readonly string[];
};

/** The clients in another provider's file; undefined when it isn't one. */
export type Importer = (content: unknown) => ClientDraft[] | undefined;

export type Fields = Readonly<Record<string, unknown>>;

export function textOf(fields: Fields, key: string): string | undefined {
  const value = fields[key];
  return typeof value === 'string' && value !== '' ? value : undefined;
}

export function listOf(fields: Fields, key: string): string[] {
  const value = fields[key];
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** What is at `path` of keys, if anything. */
export function valueAt(content: unknown, path: readonly string[]): unknown {
  return path.reduce((node, key) => (isRecord(node) ? node[key] : undefined), content);
}

/** The objects of the list at `path`. */
export function objectsAt(content: unknown, path: readonly string[]): Fields[] | undefined {
  const list = valueAt(content, path);
  return Array.isArray(list) ? list.filter(isRecord) : undefined;
}

/** One note with the keys of `fields` that are not in `known`. */
export function unknownKeys(fields: Fields, known: readonly string[]): string[] {
  const left = Object.keys(fields).filter((key) => !known.includes(key));
  return left.length === 0 ? [] : [`not carried over: ${left.join(', ')}`];
}

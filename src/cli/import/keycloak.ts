// Clients of a Keycloak realm export, JSON with `clients`, without those that Keycloak creates for itself.
import {
  listOf,
  objectsAt,
  textOf,
  type ClientDraft,
  type Fields,
  type ImportedSecret,
} from './client-draft.ts';
import { isRecord } from '../../config/parse-fields.ts';

const BUILT_IN = [
  'account',
  'account-console',
  'admin-cli',
  'broker',
  'realm-management',
  'security-admin-console',
];
/** Keycloak's own scopes, which have no meaning here. */
const OWN_SCOPES = [
  'roles',
  'web-origins',
  'acr',
  'basic',
  'microprofile-jwt',
  'service_account',
  'organization',
];

export function importKeycloak(content: unknown): ClientDraft[] | undefined {
  return objectsAt(content, ['clients'])
    ?.filter(
      (fields) =>
        textOf(fields, 'clientId') !== undefined &&
        !BUILT_IN.includes(textOf(fields, 'clientId') ?? '') &&
        (textOf(fields, 'protocol') ?? 'openid-connect') === 'openid-connect',
    )
    .map(toDraft);
}

function toDraft(fields: Fields): ClientDraft {
  const isPublic = fields['publicClient'] === true;
  const usesCode = fields['standardFlowEnabled'] !== false && fields['bearerOnly'] !== true;
  const isService = fields['serviceAccountsEnabled'] === true && !isPublic;
  return {
    clientId: textOf(fields, 'clientId') ?? 'NAME_ME',
    clientName: textOf(fields, 'name'),
    secret: isPublic ? undefined : toSecret(textOf(fields, 'secret')),
    redirectUris: usesCode ? listOf(fields, 'redirectUris').map((uri) => absolute(fields, uri)) : [],
    postLogoutRedirectUris: usesCode ? logoutUris(fields) : [],
    corsOrigins: listOf(fields, 'webOrigins').filter((origin) => origin !== '+'),
    grantTypes: [
      ...(usesCode ? ['authorization_code', 'refresh_token'] : []),
      ...(isService ? ['client_credentials'] : []),
    ],
    authMethod: isPublic ? 'none' : 'client_secret_basic',
    scopes: ['defaultClientScopes', 'optionalClientScopes']
      .flatMap((key) => listOf(fields, key))
      .filter((scope) => !OWN_SCOPES.includes(scope)),
    consent: fields['consentRequired'] === true ? 'explicit' : 'implicit',
    notes: notesOf(fields),
  };
}

/** An export without secrets has asterisks in their place. */
function toSecret(value: string | undefined): ImportedSecret | undefined {
  return value === undefined || /^\*+$/.test(value) ? undefined : { kind: 'plain', value };
}

function absolute(fields: Fields, uri: string): string {
  const root = textOf(fields, 'rootUrl');
  return uri.startsWith('/') && root !== undefined ? `${root.replace(/\/$/, '')}${uri}` : uri;
}

function logoutUris(fields: Fields): string[] {
  const attributes = isRecord(fields['attributes']) ? fields['attributes'] : {};
  const text = textOf(attributes, 'post.logout.redirect.uris') ?? '';
  // + stands for the redirect URIs.
  return text
    .split('##')
    .flatMap((uri) => (uri === '+' ? listOf(fields, 'redirectUris') : [uri]))
    .filter((uri) => uri !== '')
    .map((uri) => absolute(fields, uri));
}

function notesOf(fields: Fields): string[] {
  const notes: readonly [key: string, words: string][] = [
    ['implicitFlowEnabled', 'the implicit flow does not exist here'],
    ['directAccessGrantsEnabled', 'the password grant does not exist here'],
    ['authorizationServicesEnabled', 'its authorization services do not exist here'],
  ];
  return [
    ...(fields['enabled'] === false
      ? ['is disabled there, and would not be here: remove it, or leave it out']
      : []),
    ...notes.filter(([key]) => fields[key] === true).map(([, words]) => words),
    ...(Array.isArray(fields['protocolMappers']) ? ['its protocol mappers are not carried over'] : []),
  ];
}

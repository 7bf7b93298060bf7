// The schema of postern.yaml: every key with its default, its description and the checks of its value alone. The check-*.ts files
// compare keys. resolve.ts combines the output with the values that it refers to.
import * as z from 'zod';
import { fold } from '../features/index.ts';
import { group } from './camel-keys.ts';
import { dnsNameFault } from './client-id-url.ts';
import { clientSchema, resourceSchema } from './schema-client.ts';
import { lifetimesSchema, rateLimitsSchema, signingKeysSchema } from './schema-limits.ts';
import { passwordsSchema, userSchema } from './schema-user.ts';
import { emptyFault, labelFault, matching, secretReference, text } from './text.ts';
import {
  hostNameFault,
  imageFault,
  issuerFault,
  normalizeIssuer,
  originFault,
  proxyFault,
  supportFault,
  webUriFault,
} from './uri.ts';

const port = () =>
  z.int('must be a whole number').min(0, 'must be 0 to 65535').max(65_535, 'must be 0 to 65535');

const address = (defaultPort: number) =>
  z.strictObject({
    host: text(emptyFault).default('127.0.0.1').describe('Address to bind to; 0.0.0.0 or :: for all.'),
    port: port().default(defaultPort).describe('Port to bind to; 0 for any free port.'),
  });

const secretReferences = z.array(secretReference).default([]);

const colorFault = matching(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a color in quotes, such as "#1a56db"');

const auditFault = matching(/^(auto|stdout|off|file:.+)$/, 'must be auto, stdout, off or file:PATH');

export const configSchema = z.strictObject({
  $schema: z.string().optional().describe('JSON Schema of this file, for editors.'),
  issuer: text(issuerFault)
    .transform(normalizeIssuer)
    .describe(
      'Public URL of the service: the start of all endpoint URLs, and the iss of all tokens. https, except on localhost. Can have a path.',
    )
    .meta({ examples: ['https://id.example.com'] }),
  listen: address(3000).prefault({}).describe('Where the service listens.'),
  management: address(3001)
    .extend({
      hosts: z
        .array(text(hostNameFault))
        .default([])
        .describe(
          'Host names that /readyz and /metrics accept, such as the name of a container. IP addresses, localhost and host are always accepted. Other names are rejected to prevent DNS rebinding.',
        ),
    })
    .prefault({})
    .describe(
      'Address of /healthz, /readyz and /metrics, which are never on the public port. Keep it off the internet.',
    ),
  store: text(emptyFault)
    .default('lmdb:../data')
    .describe(
      'Data store: lmdb:FOLDER for one machine; redis://HOST, redis+sentinel://HOST,HOST/NAME or redis+cluster://HOST,HOST for several (rediss for TLS). env:NAME or file:PATH for a URL with a password.',
    )
    .meta({ examples: ['lmdb:../data', 'redis://redis.internal:6379', 'env:POSTERN_STORE'] }),
  log: z
    .strictObject({
      level: z
        .enum(['debug', 'info', 'warn', 'error'])
        .default('info')
        .describe('Minimum level. debug logs each request.'),
    })
    .prefault({})
    .describe('The log: one JSON line per event, on standard error.'),
  audit: text(auditFault)
    .default('auto')
    .describe(
      'Destination of the audit trail, one JSON line per security event: stdout, file:PATH (reopened on SIGHUP, for logrotate) or off. auto: stdout, or audit.jsonl in the data folder if stdout is a terminal and the store is lmdb.',
    ),
  trusted_proxies: z
    .array(text(proxyFault))
    .default([])
    .describe(
      'IP addresses or ranges of the proxies in front of the service. X-Forwarded-For is accepted only from these.',
    ),
  encryption_keys: secretReferences.describe(
    'Keys that encrypt data in the store: 32 random bytes each, base64url. The first encrypts, all decrypt. Optional if the issuer is on localhost.',
  ),
  cookie_keys: secretReferences.describe(
    'Keys that sign cookies: at least 32 random characters each. The first signs, all verify. Optional if the issuer is on localhost.',
  ),
  secret_files: z
    .enum(['private', 'any_mode'])
    .default('private')
    .describe(
      'private rejects key and secret files that all users can read or that users other than the owner can write, and a data folder that all users can write. any_mode accepts them, for mounts without file permissions.',
    ),
  cors: group({
    allowed_origins: z
      .array(text(originFault))
      .default([])
      .describe('Exact origins, such as https://app.example.'),
  })
    .prefault({})
    .describe('Origins whose scripts can call the OAuth endpoints.'),
  features: group(fold('switches')).prefault({}).describe('Optional features.'),
  rate_limits: rateLimitsSchema
    .prefault({})
    .describe(
      'Requests per period, such as 6000/1m. Requests above the limit get 429. All other limits are derived from these (docs/hardening.md).',
    ),
  lifetimes: lifetimesSchema.prefault({}).describe('Lifetimes of tokens, sessions and consents.'),
  signing_keys: signingKeysSchema.prefault({}).describe('Signing keys and their rotation.'),
  groups: z
    .record(z.string(), text(labelFault))
    .default({})
    .describe('All groups that users can be in, with descriptions. Turns on the scope groups.'),
  scopes: z
    .record(
      z.string(),
      z.strictObject({
        claims: z.array(z.string()).describe('Custom claims that the scope includes.'),
        description: text(labelFault).optional().describe('Description for the consent page.'),
      }),
    )
    .default({})
    .describe('Additional claims by scope: custom scopes, or more claims for email and profile.'),
  resources: z.array(resourceSchema).default([]).describe('The APIs that accept tokens of this issuer.'),
  clients_from: z
    .array(text(emptyFault))
    .default([])
    .describe(
      'Additional files with clients, or patterns such as clients.d/*.yaml. Each file contains a list, or clients: and a list.',
    ),
  clients: z.array(clientSchema).default([]).describe('The apps and services that use this issuer.'),
  outgoing: group({
    internal_hosts: z
      .array(text(dnsNameFault))
      .default([])
      .describe('Host names that are allowed to resolve to private addresses.'),
  })
    .prefault({})
    .describe('Outbound requests: client documents and logout notifications.'),
  users_from: text(emptyFault).optional().describe('File with users: a list, or users: and a list.'),
  passwords: passwordsSchema.prefault({}).describe('Rules for new passwords.'),
  views: text(emptyFault)
    .optional()
    .describe('Folder with your own templates. Each file replaces the built-in one of the same name.'),
  branding: group({
    name: text(labelFault).default('Postern').describe('Name of the service on its pages.'),
    logo: text(imageFault)
      .optional()
      .describe('Logo: a URL, a path on this host, or a file name in the assets folder of your views.'),
    color: text(colorFault).optional().describe('Accent color, such as "#1a56db".'),
    privacy_uri: text(webUriFault).optional().describe('Your privacy policy, linked from each page.'),
    terms_uri: text(webUriFault).optional().describe('Your terms of service.'),
    imprint_uri: text(webUriFault).optional().describe('Your legal notice.'),
    support_uri: text(supportFault)
      .optional()
      .describe('Where users get help: a page, or mailto: with an address.'),
  })
    .prefault({})
    .describe('Appearance of the pages.'),
  ...fold('service'),
});

/** The file without its lists of objects, which are parsed separately. */
export type ServiceForm = Omit<z.output<typeof configSchema>, 'clients' | 'resources'>;

/** A file of `clients_from` or `users_from`: a list, or a map with the list. */
function listFile(key: string, schema: z.ZodType) {
  const list = z.array(schema);
  const { $schema } = configSchema.shape;
  return z.union([list, z.strictObject({ $schema, [key]: list.describe(`The ${key} of this file.`) })]);
}

const FILES = {
  postern: { title: 'Postern configuration', schema: configSchema },
  clients: { title: 'Postern clients', schema: listFile('clients', clientSchema) },
  users: { title: 'Postern users', schema: listFile('users', userSchema) },
};

export type SchemaName = keyof typeof FILES;
export const SCHEMA_NAMES = Object.keys(FILES) as readonly SchemaName[];

/** Exports a JSON Schema for editors. YAML editors support draft 7. */
export function toJsonSchema(name: SchemaName = 'postern'): Record<string, unknown> {
  const { title, schema } = FILES[name];
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
  return { $schema, $id: `urn:postern:schema:${name}`, title, ...rest };
}

// `postern client pin`: prints the metadata document of a client as an entry of `clients`, so that it is reviewed there and never fetched.
import { Option, type Command } from 'commander';
import { stringify } from 'yaml';
import { fetchDocument } from './fetch-document.ts';
import { type ClientDocument, vetClientDocument, type VettedDocument } from './vet.ts';
import { clientIdUrlFault } from '../../config/client-id-url.ts';
import { readFault } from '../../config/document.ts';
import { loadConfig } from '../../config/load.ts';
import type { Client, Config } from '../../config/config.ts';
import { parseJsonObject } from '../../config/parse-fields.ts';
import { readRegular, statRegular } from '../../config/regular-file.ts';
import { scopeFault, splitScope } from '../../config/text.ts';
import { createOutgoing } from '../../outgoing/guard.ts';
import { addVerb, checked, type VerbOptions } from '../../cli/configuration.ts';
import { CommandError, print, type CliIo } from '../../cli/io.ts';

const HEAD = '# The metadata document of this client, as reviewed.\n';

type PinOptions = VerbOptions & { readonly scope?: string };

export function registerClientPin(client: Command, io: CliIo): void {
  addVerb(client, 'pin', 'print the client defined by a metadata document as YAML')
    .argument('<document>', 'URL or path of the metadata document')
    .addOption(
      new Option(
        '--scope <scope>',
        'scopes the client may request (default: client_documents.scope)',
      ).argParser(checked(scopeFault)),
    )
    .action((source: string, options: PinOptions) => pin(source, options, io));
}

async function pin(source: string, options: PinOptions, io: CliIo): Promise<void> {
  const config = await loadConfig(options.config, { writeKeys: false, readSecrets: false });
  const scope = options.scope === undefined ? config.clientDocuments?.scope : splitScope(options.scope);
  if (!scope) throw new CommandError('the client needs scopes: use --scope or set client_documents.scope');
  const vet = (document: ClientDocument) => vetClientDocument(document, scope);
  const isUrl = /^https?:/i.test(source);
  const { clientId, vetted } = isUrl ? await vetPublished(source, config, vet) : await vetFile(source, vet);
  if (!('client' in vetted)) throw new CommandError(`${clientId}: ${vetted.refused}`);
  const fields = toPinnedFields(vetted.client);
  const yaml = `${HEAD}${stringify([fields], { lineWidth: 0 })}`;
  print(io, options, { value: fields, text: yaml });
}

type Vet = (document: ClientDocument) => VettedDocument;

async function vetPublished(url: string, config: Config, vet: Vet) {
  const fault = clientIdUrlFault(url);
  if (fault) throw new CommandError(`${url} ${fault}`);
  const parts = { outgoing: createOutgoing(config), vet };
  return { clientId: url, vetted: await fetchDocument(parts, url) };
}

async function vetFile(file: string, vet: Vet) {
  const read = statRegular(file).then(() => readRegular(file));
  const body = await read.catch((error: unknown) => {
    throw new CommandError(`${file} ${readFault(error)}`, { cause: error });
  });
  const clientId = parseJsonObject(body.toString())?.['client_id'];
  const fault = typeof clientId === 'string' ? clientIdUrlFault(clientId) : 'is missing';
  if (typeof clientId !== 'string' || fault) throw new CommandError(`${file}: client_id: ${fault}`);
  return { clientId, vetted: vet({ clientId, contentType: 'application/json', body }) };
}

/** The client as an entry of `clients`, in the order in which people read one. Without its logo, which a page would load. */
function toPinnedFields(client: Client) {
  // Neither YAML nor JSON has what is undefined.
  return {
    client_id: client.clientId,
    client_name: client.clientName,
    client_uri: client.clientUri,
    policy_uri: client.policyUri,
    tos_uri: client.tosUri,
    application_type: client.applicationType,
    redirect_uris: client.redirectUris,
    post_logout_redirect_uris:
      client.postLogoutRedirectUris.length > 0 ? client.postLogoutRedirectUris : undefined,
    grant_types: client.grantTypes,
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    scope: client.scopes.join(' '),
  };
}

// `postern client pin`: takes the metadata document of a client into the configuration, so that it is reviewed there and never
// fetched, and compares pinned documents with published ones.
import { Option, type Command } from 'commander';
import { stringify } from 'yaml';
import { fetchDocument } from '../client-documents/fetch-document.ts';
import { checkPinned, toPinnedFields } from '../client-documents/pinned.ts';
import { type ClientDocument, vetClientDocument, type VettedDocument } from '../client-documents/vet.ts';
import { clientIdUrlFault } from '../config/client-id-url.ts';
import type { Config } from '../config/config.ts';
import { parseJsonObject } from '../config/parse-fields.ts';
import { readInTime, statRegular } from '../config/regular-file.ts';
import { scopeFault, splitScope } from '../config/text.ts';
import { outgoingOf } from '../outgoing/guard.ts';
import { addVerb, checked, readConfig, type VerbOptions } from './configuration.ts';
import { CommandError, Ended, EXIT, print, type CliIo } from './io.ts';

const HEAD =
  '# The metadata document of this client, as reviewed: "postern client pin --check" compares it with what is published.\n';

type PinOptions = VerbOptions & {
  readonly check?: boolean;
  readonly scope?: string;
};

export function registerClientPin(client: Command, io: CliIo): void {
  addVerb(client, 'pin', 'print a client that has a metadata document as YAML')
    .argument('[document]', 'the URL of its metadata document, or a file that has it')
    .option(
      '--check',
      'compare the pinned ones, or that URL, with what is published; exit code 1: they differ',
    )
    .addOption(
      new Option('--scope <scope>', 'what it may ask for; default: client_documents.scope').argParser(
        checked(scopeFault),
      ),
    )
    .action(async (source: string | undefined, options: PinOptions, command: Command) => {
      const config = await readConfig(options.config, { writeKeys: false, readSecrets: false });
      if (options.check === true) await check(source, config, options, io);
      else if (source === undefined) command.error("error: missing required argument 'document'");
      else await pin(source, config, options, io);
    });
}

async function pin(source: string, config: Config, options: PinOptions, io: CliIo): Promise<void> {
  const scope = scopeOf(options, config);
  const vet = (document: ClientDocument) => vetClientDocument(document, scope);
  const isUrl = /^https?:/i.test(source);
  const { clientId, vetted } = isUrl ? await vetPublished(source, config, vet) : await vetFile(source, vet);
  if (!('client' in vetted))
    throw new CommandError(`${clientId}: ${'failed' in vetted ? vetted.failed : vetted.refused}`);
  const fields = toPinnedFields(vetted.client);
  const yaml = `${HEAD}${stringify([fields], { lineWidth: 0 })}`;
  print(io, options, { value: fields, text: yaml });
}

type Vet = (document: ClientDocument) => VettedDocument;

function scopeOf({ scope }: PinOptions, { clientDocuments }: Config): readonly string[] {
  const allowed = scope === undefined ? (clientDocuments?.scope ?? []) : splitScope(scope);
  if (allowed.length > 0) return allowed;
  throw new CommandError('say what the client may ask for: --scope, or client_documents.scope of the file');
}

async function vetPublished(url: string, config: Config, vet: Vet) {
  const fault = clientIdUrlFault(url);
  if (fault) throw new CommandError(`${url}: it ${fault}`);
  const parts = { outgoing: outgoingOf(config), vet };
  return { clientId: url, vetted: await fetchDocument(parts, url) };
}

async function vetFile(file: string, vet: Vet) {
  await statRegular(file);
  const body = await readInTime(file);
  const clientId = parseJsonObject(body.toString())?.['client_id'];
  const fault = typeof clientId === 'string' ? clientIdUrlFault(clientId) : 'is missing';
  if (typeof clientId !== 'string' || fault) throw new CommandError(`${file}: client_id: ${fault}`);
  return { clientId, vetted: vet({ clientId, contentType: 'application/json', body }) };
}

async function check(url: string | undefined, config: Config, options: PinOptions, io: CliIo): Promise<void> {
  const clients = config.clients.filter(({ clientId }) => url === undefined || clientId === url);
  const checks = await checkPinned(clients, outgoingOf(config));
  if (checks.length === 0)
    throw new CommandError(
      `no client_id of the configuration is ${url ?? 'a URL'}: there is nothing to compare`,
    );
  const isSame = checks.every(({ differences, failed }) => differences.length === 0 && failed === undefined);
  const rows = checks.map(({ clientId, ...found }) => ({ client_id: clientId, ...found }));
  print(io, options, { value: { ok: isSame, clients: rows } });
  if (!isSame) throw new Ended(EXIT.refused);
}

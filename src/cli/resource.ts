// `postern resource metadata URL`: what an API serves so that its clients find this issuer (RFC 9728). The API serves it, so nothing
// here does.
import type { Command } from 'commander';
import type { Config, Resource } from '../config/config.ts';
import { resourceKey } from '../config/uri.ts';
import { addVerb, readConfig, type VerbOptions } from './configuration.ts';
import { CommandError, printJson, type CliIo } from './io.ts';

export function registerResource(program: Command, io: CliIo): void {
  addVerb(
    program.command('resource').description('the APIs of the configuration'),
    'metadata',
    'print the document (RFC 9728) and the header that an API serves to be found by its clients',
  )
    .argument('<url>', 'the API, as in `resources`')
    .action(async (url: string, { config: file, json = false }: VerbOptions) => {
      const config = await readConfig(file, { writeKeys: false, readSecrets: false });
      printMetadata(toMetadata(config, findResource(config, url)), json, io);
    });
}

type Metadata = {
  /** Where clients look for it. */
  readonly url: string;
  readonly document: Readonly<Record<string, unknown>>;
  readonly wwwAuthenticate: string;
};

function findResource({ resources }: Config, url: string): Resource {
  const found = resources.find(({ resource }) => resourceKey(resource) === resourceKey(url));
  if (found === undefined) {
    const known = resources.map(({ resource }) => resource).join(', ');
    throw new CommandError(`resources has no ${url}${known === '' ? '' : `; it has ${known}`}`);
  }
  if (!/^https?:/i.test(found.resource))
    throw new CommandError(
      `${found.resource} has no metadata: only an https URL has a place for it (RFC 9728 §3)`,
    );
  return found;
}

function toMetadata({ issuer }: Config, { resource, name, scopes, defaultScopes }: Resource): Metadata {
  const { origin, pathname, search } = new URL(resource);
  // RFC 9728 §3.1: between the host and the path, without the slash that is the whole path.
  const url = `${origin}/.well-known/oauth-protected-resource${pathname === '/' ? '' : pathname}${search}`;
  // Without it an MCP client asks for all of scopes_supported.
  const scope = defaultScopes.join(' ');
  return {
    url,
    document: {
      resource,
      authorization_servers: [issuer],
      scopes_supported: scopes,
      bearer_methods_supported: ['header'],
      ...(name !== undefined && { resource_name: name }),
    },
    // RFC 9728 §5.1, RFC 6750 §3
    wwwAuthenticate: `Bearer resource_metadata="${url}"${scope === '' ? '' : `, scope="${scope}"`}`,
  };
}

/** Only the document goes to stdout. */
function printMetadata({ url, document, wwwAuthenticate }: Metadata, json: boolean, io: CliIo): void {
  if (json) return printJson(io, { url, document, www_authenticate: wwwAuthenticate });
  io.stderr.write(`Serve this at ${url}, as application/json:\n`);
  printJson(io, document);
  io.stderr.write(
    `\nAnd with each 401, without a token or with a wrong one:\nWWW-Authenticate: ${wwwAuthenticate}\n`,
  );
}

// `postern views eject|check|preview`, for designers who change the pages.
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import type { Command } from 'commander';
import { loadConfig } from '../../config/load.ts';
import { didYouMean } from '../../config/parse-fields.ts';
import { createFolder } from '../../observability/folder.ts';
import { checkViews, type ViewFault } from './check-views.ts';
import { startPreview } from './preview.ts';
import { BUILT_IN_FOLDER, listViewFiles } from '../../views/view-files.ts';
import { addVerb, type VerbOptions } from '../../cli/configuration.ts';
import { type CliIo, CommandError, Ended, EXIT, print } from '../../cli/io.ts';

type EjectOptions = VerbOptions & Readonly<{ stdout?: boolean; force?: boolean }>;

export function registerViews(program: Command, io: CliIo): void {
  const views = program.command('views').description('manage page templates');
  addVerb(views, 'eject', 'copy a built-in template to your views folder')
    .argument('<name>', 'template or asset, such as login, partials/head or assets/style.css')
    .option('--stdout', 'print the template instead')
    .option('--force', 'overwrite an existing file')
    .action(async (name: string, options: EjectOptions) => eject(name, options, io));
  addVerb(views, 'check', 'validate your templates and texts').action(async (options: VerbOptions) =>
    check(options, io),
  );
  addVerb(views, 'preview', 'preview every page in a browser, with live reload')
    .option('--port <port>', 'local port; 0 selects a free one', '4600')
    .action(async (options: Parameters<typeof preview>[0]) => preview(options, io));
}

async function preview({ port, ...options }: VerbOptions & { readonly port: string }, io: CliIo) {
  const server = await startPreview(await readViews(options), Number(port)).catch((cause: unknown) => {
    throw new CommandError(`can't listen on port ${port}: choose another one with --port`, { cause });
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  print(io, options, { value: { url }, text: `Page preview: ${url}\nPress Ctrl-C to stop.` });
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  server.close().closeAllConnections();
}

/** Reads no secrets, because a designer's machine has none and needs none. */
const readViews = ({ config: file }: VerbOptions) =>
  loadConfig(file, { writeKeys: false, readSecrets: false });

async function eject(typed: string, options: EjectOptions, io: CliIo): Promise<void> {
  const { viewsFolder } = await readViews(options);
  const builtIn = listViewFiles(BUILT_IN_FOLDER);
  const name = builtIn.has(typed) ? typed : `${typed}.ejs`;
  const file = builtIn.get(name);
  if (file === undefined) {
    const names = Array.from(builtIn.keys(), (one) => one.replace(/\.ejs$/, ''));
    const hint = didYouMean(typed, names);
    throw new CommandError(`there is no view ${JSON.stringify(typed)}${hint}`);
  }
  if (name.endsWith('.json'))
    throw new CommandError(
      `${name} is merged key by key: write a file of that name with only the keys that you change`,
    );
  const text = readFileSync(file, 'utf8');
  if (options.stdout === true) {
    io.stdout.write(text);
    return;
  }
  if (viewsFolder === undefined)
    throw new CommandError('no folder for your templates is configured: set views');
  const target = path.join(viewsFolder, name);
  if (existsSync(target) && options.force !== true)
    throw new CommandError(
      `${target} already exists; use --force to overwrite it, or --stdout to print the built-in one`,
    );
  createFolder(path.dirname(target), 0o777);
  writeFileSync(target, text);
  print(io, options, { value: { name, file: target }, text: target });
}

async function check(options: VerbOptions, io: CliIo): Promise<void> {
  const { viewsFolder, branding } = await readViews(options);
  const faults = viewsFolder === undefined ? [] : checkViews({ overrideFolder: viewsFolder, branding });
  const ok = faults.length === 0;
  if (options.json !== true)
    for (const fault of faults) io.stderr.write(`${format(fault, viewsFolder ?? '')}\n`);
  const built = 'no views folder is configured: the built-in templates are in use';
  const text = viewsFolder === undefined ? built : ok ? `${viewsFolder} is valid` : '';
  print(io, options, { value: { ok, faults }, text });
  if (!ok) throw new Ended(EXIT.refused);
}

/** The form that editors turn into a link. */
function format({ file, line, message }: ViewFault, folder: string): string {
  const place = path.isAbsolute(file) ? file : path.join(folder, file);
  return `${place}${line === undefined ? '' : `:${line}`} ${message}`;
}

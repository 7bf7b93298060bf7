// Who may read and write the files of the service on this machine. Says nothing about files that aren't here.
import { stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Config, ConfigSources } from '../config/config.ts';
import { readDocument } from '../config/document.ts';
import { ProblemList } from '../config/problems.ts';
import { openFileFault } from '../config/secret-reference.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';

const WRITABLE_BY_ALL = 0o002;
const BY_OTHERS = 0o077;

export async function checkFiles(config: Config, sources: ConfigSources): Promise<readonly Finding[]> {
  const files = await Promise.all(sources.files.map((file) => secretsNamedIn(file)));
  const secrets = new Set(files.flat());
  const findings: Finding[] = [];
  for (const file of sources.files) findings.push(...(await judgeFile(file)));
  const say = config.secretFiles === 'any_mode' ? warning : problem;
  for (const file of secrets) findings.push(...(await judgeSecret(file, say)));
  if (config.viewsFolder !== undefined) findings.push(...(await judgeViews(config.viewsFolder)));
  if (config.store.engine === 'lmdb') findings.push(...(await judgeData(config.store.folder)));
  return orOk(findings, 'files', 'nobody may read or write what is not theirs');
}

async function modeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).mode;
  } catch {
    return undefined;
  }
}

async function judgeFile(file: string): Promise<Finding[]> {
  const [mode, folder] = [await modeOf(file), await modeOf(dirname(file))];
  if (mode === undefined || folder === undefined) return [];
  const sticky = 0o1000;
  if ((mode & WRITABLE_BY_ALL) !== 0 || ((folder & WRITABLE_BY_ALL) !== 0 && (folder & sticky) === 0))
    return [
      problem(
        'file-writable',
        `${file} may be replaced by everybody on this machine`,
        'chmod o-w the file and its folder.',
      ),
    ];
  return [];
}

async function judgeSecret(file: string, say: typeof problem): Promise<Finding[]> {
  const fault = openFileFault(file, (await modeOf(file)) ?? 0);
  const advice =
    "It belongs to the service's user or group; where a mount can't do that, secret_files: any_mode.";
  return fault === undefined ? [] : [say('secret-readable', fault, advice)];
}

/** Templates are code: whoever may write there decides what people type their passwords into. */
async function judgeViews(folder: string): Promise<Finding[]> {
  const mode = await modeOf(folder);
  if (mode === undefined || (mode & WRITABLE_BY_ALL) === 0) return [];
  return [
    problem(
      'views-writable',
      `${folder} may be written by everybody: templates are code`,
      `chmod o-w ${folder}`,
    ),
  ];
}

async function judgeData(folder: string): Promise<Finding[]> {
  const mode = await modeOf(folder);
  if (mode === undefined || (mode & BY_OTHERS) === 0) return [];
  const say = (mode & 0o007) === 0 ? warning : problem;
  return [say('data-readable', `${folder} is open to other users than the service's`, `chmod 700 ${folder}`)];
}

/** The files that `file:` references of a document lead to. */
async function secretsNamedIn(file: string): Promise<readonly string[]> {
  const document = await readDocument(file, new ProblemList());
  if (document === undefined) return [];
  const { content, folder } = document;
  return referencesIn(content).map((reference) => resolve(folder, reference.slice('file:'.length)));
}

function referencesIn(value: unknown): string[] {
  if (typeof value === 'string') return value.startsWith('file:') ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(referencesIn);
}

// Reads one YAML or JSON file into plain data, with the position of each value.
import { dirname, resolve } from 'node:path';
import { parseJson } from './json.ts';
import type { Located, ProblemList } from './problems.ts';
import { NotRegular, readRegular, statRegular } from './regular-file.ts';
import { locateIn, parseYaml } from './yaml.ts';

// 10,000 users with 20 groups each take 4.4 MB.
const LARGEST_BYTES = 8 * 1024 * 1024;

export type SourceDocument = Located & {
  /** Absolute folder of the file, where its relative paths start. */
  readonly folder: string;
  readonly content: unknown;
  /** Whether the file holds nothing at all, not even a comment, or `null` in so many letters. */
  readonly isBlank: boolean;
};

/** The document in `file`, or undefined after its problems were noted. */
export async function readDocument(
  file: string,
  problems: ProblemList,
  reportUnreadable = (message: string) => problems.add({ file, message }),
): Promise<SourceDocument | undefined> {
  const source = await readText(file, reportUnreadable);
  return source === undefined ? undefined : parseSource(file, source, problems);
}

/** The text of a file, or undefined after `report` was told why not. */
export async function readText(file: string, report: (message: string) => void): Promise<string | undefined> {
  try {
    // Checked before reading, so that a file of any size is refused at once.
    const { size } = await statRegular(file);
    if (size > LARGEST_BYTES) {
      report(`is too large: the limit is ${LARGEST_BYTES / 1024 / 1024} MiB`);
      return undefined;
    }
    return new TextDecoder('utf-8', { fatal: true }).decode(await readRegular(file));
  } catch (error) {
    report(readFault(error));
    return undefined;
  }
}

/** Why a file can't be read, in plain words. */
export function readFault(error: unknown): string {
  if (error instanceof NotRegular) return error.message;
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return 'does not exist';
  if (code === 'EACCES' || code === 'EPERM') return "can't be read: check its owner and permissions";
  return code === 'ERR_ENCODING_INVALID_ENCODED_DATA'
    ? 'is not UTF-8 text'
    : `can't be read (${String(code)})`;
}

function parseSource(file: string, source: string, problems: ProblemList): SourceDocument | undefined {
  const folder = dirname(resolve(file));
  const json = parseJson(source);
  const locate = locateIn(source);
  if (json !== undefined) return { file, folder, content: json, isBlank: false, locate };
  const yaml = parseYaml(source);
  if (!('faults' in yaml))
    return { file, folder, content: yaml.content, isBlank: source.trim() === '' || yaml.isNull, locate };
  for (const fault of yaml.faults) problems.add({ file, ...fault });
  return undefined;
}

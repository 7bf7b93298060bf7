// Reads one YAML or JSON file into plain data, with the position of each value.
import { dirname, resolve } from 'node:path';
import { parseJson } from './json.ts';
import type { Located, ProblemList } from './problems.ts';
import { readFault, readRegular } from './regular-file.ts';
import { locateIn, parseYaml } from './yaml.ts';

// 10,000 users with 20 groups each take 4.4 MB.
const LARGEST_KIB = 8192;

export type SourceDocument = Located & {
  /** Absolute folder of the file, where its relative paths start. */
  readonly folder: string;
  readonly content: unknown;
  /** Whether the file holds comments and nothing else. */
  readonly isComment: boolean;
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
    const { content } = await readRegular(file, LARGEST_KIB);
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch (error) {
    report(readFault(error));
    return undefined;
  }
}

function parseSource(file: string, source: string, problems: ProblemList): SourceDocument | undefined {
  const found = { file, folder: dirname(resolve(file)), locate: locateIn(source), isComment: false };
  const json = parseJson(source);
  if (json !== undefined) return { ...found, content: json };
  const yaml = parseYaml(source);
  if (!('faults' in yaml)) {
    const isComment = source.includes('#') && !/^[ \t]*[^\s#]/m.test(source);
    return { ...found, content: yaml.content, isComment };
  }
  for (const fault of yaml.faults) problems.add({ file, ...fault });
  return undefined;
}

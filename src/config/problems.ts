// Collects the problems of a configuration in all of its files, and sorts them.
import { escaped } from './text.ts';

/** One problem of the configuration, in the terms of the administrator who must fix it. */
export type ConfigProblem = Readonly<{
  file: string;
  /** 1-based. Absent if the file itself can't be read. */
  line?: number | undefined;
  column?: number | undefined;
  /** The path in the document, such as `clients[2].redirect_uris`. */
  path?: string | undefined;
  message: string;
}>;

/** A path in a document: keys and indexes from the top. */
export type Path = readonly (string | number)[];

export type Position = Readonly<{ line: number; column: number }>;

export type Located = {
  /** The name of the file in messages: relative if the administrator named it so. */
  readonly file: string;
  /** Locates the value at `path` (or its key), or the innermost value around it that exists. */
  locate(path: Path, target: 'key' | 'value'): Position;
};

export type Report = (path: Path, message: string, target?: 'key' | 'value') => void;

/** Why a value or a file can't be used. The message follows its name, and doesn't contain the value, which may be a secret. */
export class ValueFault extends Error {}

/** Resolves the value, or undefined after reporting its fault. */
export async function orReport<T>(
  value: Promise<T>,
  report: (message: string) => void,
): Promise<T | undefined> {
  return value.catch((error: unknown) => {
    if (!(error instanceof ValueFault)) throw error;
    report(error.message);
    return undefined;
  });
}

/** Formats a path as `clients[2].redirect_uris`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

/** Formats a problem as `config/postern.yaml:12:5 clients[0].redirect_uris: …`, which editors turn into a link. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return escaped(path ? `${place} ${path}: ${message}` : `${place} ${message}`);
}

export class ProblemList {
  readonly #problems: ConfigProblem[] = [];
  /** Messages for the administrator that aren't problems, one line each. */
  readonly notices: string[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: ConfigProblem): void {
    this.#problems.push(problem);
  }

  reporter(document: Located): Report {
    return (path, message, target = 'value') => {
      const { line, column } = document.locate(path, target);
      this.add({ file: document.file, line, column, path: formatPath(path), message });
    };
  }

  /** The problems file by file, each from top to bottom. */
  list(): readonly ConfigProblem[] {
    const byFile = Map.groupBy(this.#problems, ({ file }) => file).values();
    return [...byFile].flatMap((some) =>
      some.toSorted(
        (left, right) => (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0),
      ),
    );
  }
}

// Collects what is wrong with a configuration, in all of its files, and puts it in order.
import type { ConfigProblem } from './config.ts';

/** Where in a document: keys and indexes from the top. */
export type Path = readonly (string | number)[];

export type Position = { readonly line: number; readonly column: number };

/** What a problem needs to know of the file it is in. */
export type Located = {
  /** The file's name for users, relative to where they are when they gave it so. */
  readonly file: string;
  /** The value at `path` (or its key), or the innermost thing around it that exists. */
  locate(path: Path, target: 'key' | 'value'): Position;
};

/** Notes one problem of the document that it was made for. */
export type Report = (path: Path, message: string, target?: 'key' | 'value') => void;

/** `clients[2].redirect_uris`. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? step : `${text}.${step}`;
  }, '');
}

export class ProblemList {
  readonly #problems: ConfigProblem[] = [];
  readonly #files: string[] = [];
  /** What is no problem, and worth a line. */
  readonly notices: string[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  add(problem: ConfigProblem): void {
    if (!this.#files.includes(problem.file)) this.#files.push(problem.file);
    this.#problems.push(problem);
  }

  reporter(document: Located): Report {
    return (path, message, target = 'value') => {
      const { line, column } = document.locate(path, target);
      this.add({ file: document.file, line, column, path: formatPath(path), message });
    };
  }

  /** File by file, each from top to bottom. */
  list(): readonly ConfigProblem[] {
    return this.#problems.toSorted(
      (left, right) =>
        this.#files.indexOf(left.file) - this.#files.indexOf(right.file) ||
        (left.line ?? 0) - (right.line ?? 0) ||
        (left.column ?? 0) - (right.column ?? 0),
    );
  }
}

// Collects what is wrong with a configuration, in all of its files, and puts it in order.

/** One thing that is wrong with the configuration, in the words of the user who must repair it. */
export type ConfigProblem = Readonly<{
  file: string;
  /** 1-based, absent when the file itself can't be read. */
  line?: number | undefined;
  column?: number | undefined;
  /** Where in the document, as `clients[2].redirect_uris`. */
  path?: string | undefined;
  message: string;
}>;

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

/** `config/postern.yaml:12:5 clients[0].redirect_uris: …`, the form that editors turn into a link. */
export function formatProblem({ file, line, column, path, message }: ConfigProblem): string {
  const place = line === undefined ? file : `${file}:${line}:${column ?? 1}`;
  return path ? `${place} ${path}: ${message}` : `${place} ${message}`;
}

export class ProblemList {
  readonly #problems: ConfigProblem[] = [];
  /** What is no problem, and worth a line. */
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

  /** File by file, each from top to bottom. */
  list(): readonly ConfigProblem[] {
    const byFile = Map.groupBy(this.#problems, ({ file }) => file).values();
    return [...byFile].flatMap((some) =>
      some.toSorted(
        (left, right) => (left.line ?? 0) - (right.line ?? 0) || (left.column ?? 0) - (right.column ?? 0),
      ),
    );
  }
}

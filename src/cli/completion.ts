// `postern completion bash|zsh`: a script that completes verbs, options, choices and files, printed from the tree of commands.
import { Argument, type Command } from 'commander';
import type { CliIo } from './io.ts';

export function registerCompletion(program: Command, { stdout }: CliIo): void {
  program
    .command('completion')
    .description('print a completion script: source <(postern completion bash)')
    .addArgument(new Argument('<shell>', 'your shell').choices(Object.keys(SHELLS)))
    .action((shell: keyof typeof SHELLS) => {
      stdout.write(`${toScript(program)}${SHELLS[shell]}`);
    });
}

const isFile = (name: string) => /file|folder|document/.test(name);
const quoted = (words: readonly (string | undefined)[]) => `'${words.filter(Boolean).join(' ')}'`;

/** A case of a shell: what follows the verb `at`, and what follows each of its options that has a value. */
function toCases(command: Command, at = ''): string[] {
  const options = command.createHelp().visibleOptions(command);
  const verbs = command.commands;
  const values = options
    .filter(({ required, optional }) => required || optional)
    .map(({ short, long, argChoices = [], flags }) => {
      const patterns = [short, long].filter(Boolean).map((flag) => `'${at} ${flag}'`);
      return `  ${patterns.join('|')}) plain=${quoted(argChoices)} files=${isFile(flags) ? 1 : ''} ;;`;
    });
  const args = command.registeredArguments;
  const plain = [...verbs.map((verb) => verb.name()), ...args.flatMap(({ argChoices = [] }) => argChoices)];
  const files = args.some((arg) => isFile(arg.name())) ? 1 : '';
  return [
    ...values,
    ...verbs.flatMap((verb) => toCases(verb, `${at} ${verb.name()}`)),
    `  '${at} '*) plain=${quoted(plain)} dashed=${quoted(options.map(({ long }) => long))} files=${files} ;;`,
  ];
}

const pathsOf = (command: Command, at = ''): string[] =>
  command.commands.flatMap((verb) => [`'${at} ${verb.name()}'`, ...pathsOf(verb, `${at} ${verb.name()}`)]);

/** A function of both shells, for the words up to the one that is being completed. */
const toScript = (program: Command): string => `_postern_at() {
  at='' last='' plain='' dashed='' files=''
  for last in "$@"; do
    case "$at $last" in ${pathsOf(program).join('|')}) at="$at $last" ;; esac
  done
  case "$at $last" in
${toCases(program).join('\n')}
  esac
}
`;

const SHELLS = {
  bash: `_postern() {
  local at last plain dashed files
  _postern_at "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  case $2 in -*) plain=$dashed files='' ;; esac
  COMPREPLY=($(compgen -W "$plain" -- "$2"))
  if [ "$files" ]; then compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$2")); fi
}
complete -F _postern postern
`,
  zsh: `_postern() {
  local at last plain dashed files
  _postern_at "\${(@)words[2,CURRENT-1]}"
  case $PREFIX in -*) plain=$dashed files='' ;; esac
  compadd -- \${=plain}
  [ "$files" ] && _files
}
compdef _postern postern
`,
};

// `postern completion bash|zsh`: a script that completes verbs, options and choices, printed from the tree of commands.
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

const quoted = (words: readonly (string | undefined)[]) =>
  `'${[...new Set(words)].filter(Boolean).join(' ')}'`;

/** Returns a shell case for each verb, with the words that can follow it. Where none of them fits, shells complete files. */
function toCases(command: Command, at = ''): string[] {
  const options = command.createHelp().visibleOptions(command);
  const choices = [...command.registeredArguments, ...options].flatMap(({ argChoices = [] }) => argChoices);
  const plain = [...command.commands.map((verb) => verb.name()), ...choices];
  return [
    ...command.commands.flatMap((verb) => toCases(verb, `${at} ${verb.name()}`)),
    `  '${at}') plain=${quoted(plain)} dashed=${quoted(options.map(({ long }) => long))} ;;`,
  ];
}

const pathsOf = (command: Command, at = ''): string[] =>
  command.commands.flatMap((verb) => [`'${at} ${verb.name()}'`, ...pathsOf(verb, `${at} ${verb.name()}`)]);

/** Returns a function for both shells, which takes the words before the one that is being completed. */
const toScript = (program: Command) => `_postern_at() {
  at='' plain='' dashed=''
  for word in "$@"; do
    case "$at $word" in ${pathsOf(program).join('|')}) at="$at $word" ;; esac
  done
  case "$at" in
${toCases(program).join('\n')}
  esac
}
`;

const SHELLS = {
  bash: `_postern() {
  local at word plain dashed
  _postern_at "\${COMP_WORDS[@]:1:COMP_CWORD-1}"
  case $2 in -*) plain=$dashed ;; esac
  COMPREPLY=($(compgen -W "$plain" -- "$2"))
}
complete -o default -F _postern postern
`,
  zsh: `_postern() {
  local at word plain dashed
  _postern_at "\${(@)words[2,CURRENT-1]}"
  case $PREFIX in -*) plain=$dashed ;; esac
  compadd -- \${=plain} || _files
}
compdef _postern postern
`,
};

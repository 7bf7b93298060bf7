// Real shells load the script and complete typed words.
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { configFolder } from '../../world/temp-folder.ts';
import { postern, verbNames } from '../../world/terminal.ts';

const { folder, file } = configFolder();

const CASES = {
  us: 'user',
  'user li': 'list',
  'keys ': 'list rotate compromise',
  'client --': '--help',
  'check --no': '--no-secrets',
  'user list -o ': 'table wide json csv name',
  'completion ': 'bash zsh',
  ...((await verbNames()).includes('user import') && {
    'user import --from k': 'keycloak',
  }),
};

/** Each shell prints a line for each of its arguments. */
const SHELLS: Readonly<Record<string, string>> = {
  // As readline does: passes the words and the one to complete to the function that is registered for the last part of a path.
  bash: `source "$0"; complete -p postern > /dev/null || exit; compopt() { :; }
for typed; do
  COMP_WORDS=(./postern $typed); case $typed in *' ') COMP_WORDS+=('') ;; esac
  COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _postern ./postern "\${COMP_WORDS[COMP_CWORD]}"; echo "\${COMPREPLY[*]}"
done`,
  // A shell in a terminal, where Tab is pressed. The file gets what it would offer; ^U empties the line. The prompt says that it listens.
  zsh: `zmodload zsh/zpty; zpty -b inner zsh -f -i
zpty -w inner "autoload -Uz compinit; compinit -u -D; setopt no_auto_list; source $0; "'\
compadd() { local -a all; builtin compadd -O all "$@"; (( $#all )) && echo -n "$all" > offered; builtin compadd "$@"; }; PS1=REA\\DY'
zpty -r inner line '*READY*'
for typed; do
  : > offered; zpty -w inner "./postern $typed"$'\\t\\x15'; zpty -r inner line '*READY*'
  print -r -- "$(<offered)"
done`,
};

describe.each(Object.entries(SHELLS))('postern completion %s', (shell, typing) => {
  it('completes verbs, options and choices', async () => {
    const script = file(`_${shell}`, (await postern(['completion', shell])).stdout);
    const args = ['-c', typing, script, ...Object.keys(CASES)];
    const { stdout } = await promisify(execFile)(shell, args, { cwd: folder, timeout: 60_000 });
    expect(stdout.trimEnd().split('\n')).toEqual(Object.values(CASES));
  });
});

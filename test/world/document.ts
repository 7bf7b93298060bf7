// The commands and output in the fenced blocks of documents.
import { expect } from 'vitest';
import { runVerb } from './command-line.ts';

export function blocksOf(text: string, language: string): readonly string[] {
  const blocks = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
  return blocks.filter(([, of]) => of === language).map(([, , block = '']) => block);
}

/** Runs the commands of a block beside a world, with amelie in place of alice; returns their number. Passwords come from a pipe. */
export async function runPrinted(
  block: string | undefined,
  { configFile }: { readonly configFile: string },
): Promise<number> {
  const commands = (block ?? '').split('\n').filter((line) => line !== '');
  for (const command of commands) {
    const [, ...args] = command.replace(/\balice\b/, 'amelie').split(' ');
    const { code, stderr } = await runVerb([...args, '--config', configFile], 'seven wet umbrellas\n');
    expect([command, code, stderr]).toEqual([command, 0, expect.any(String)]);
  }
  return commands.length;
}

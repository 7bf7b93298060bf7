// The programs in a guide: blocks whose first line is a comment with the name of a file.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** Writes them unchanged into the folder; returns their names. */
export async function writeFilesOf(guide: string, folder: string): Promise<readonly string[]> {
  const text = await readFile(path.join(import.meta.dirname, '../../docs/apps', guide), 'utf8');
  const blocks = [...text.matchAll(/^```\w+\n((?:\/\/|#) ([\w.[\]/-]+\.(?:jsx?|py))\n[^]*?)^```$/gm)];
  for (const [, block = '', name = ''] of blocks) {
    const file = path.join(folder, name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, block);
  }
  return blocks.map(([, , name = '']) => name);
}

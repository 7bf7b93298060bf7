// How the files of a configuration look at one moment, without reading them. Owns what counts as a change, and what is
// the difference between a file that was replaced and one that somebody is writing into.
import { open, stat } from 'node:fs/promises';
import type { ConfigSources } from './config.ts';
import { matchesOf } from './included-files.ts';

/** `identity` says which file it is, `state` what was last done to it. */
type Mark = { readonly identity: string; readonly state: string; readonly changedAt: number };

export type Snapshot = ReadonlyMap<string, Mark>;

/** replaced: another file has the name, whole as it came. written: the same file, so it may be half done. */
export type Change = 'none' | 'replaced' | 'written';

const ABSENT: Mark = { identity: 'absent', state: '', changedAt: 0 };

export async function takeSnapshot({ files, patterns }: ConfigSources): Promise<Snapshot> {
  const marks = new Map<string, Mark>();
  const names = new Set(files);
  for (const pattern of patterns) {
    const matches = await matchesOf(pattern);
    marks.set(`pattern ${pattern}`, { identity: matches.join('\n'), state: '', changedAt: 0 });
    for (const match of matches) names.add(match);
  }
  await Promise.all([...names].map(async (name) => marks.set(name, await markOf(name))));
  return marks;
}

async function markOf(file: string): Promise<Mark> {
  try {
    // Follows links: when a mounted folder is swapped, its names lead to other files.
    const { dev, ino, birthtimeMs, size, mtimeMs, ctimeMs } = await stat(file);
    const identity = `${dev} ${ino} ${birthtimeMs}`;
    return { identity, state: `${size} ${mtimeMs} ${ctimeMs}`, changedAt: ctimeMs };
  } catch {
    return ABSENT;
  }
}

/** What happened between the two, to the files that `after` knows. */
export function changeBetween(before: Snapshot, after: Snapshot): Change {
  let change: Change = 'none';
  for (const [name, mark] of after) {
    const old = before.get(name);
    if (old?.identity !== mark.identity) change = 'replaced';
    else if (old.state !== mark.state) return 'written';
  }
  return change;
}

/** Whether a file changed at or after `time`, in epoch milliseconds. */
export function isNewerThan(snapshot: Snapshot, time: number): boolean {
  // File systems count in ticks of some milliseconds.
  return [...snapshot.values()].some(({ changedAt }) => changedAt >= time - 20);
}

/** The documents that are not as they were. */
export function changedDocuments(before: Snapshot, after: Snapshot): string[] {
  return [...after]
    .filter(([name, { identity, state }]) => {
      const old = before.get(name);
      return /\.(ya?ml|json)$/.test(name) && (old?.identity !== identity || old.state !== state);
    })
    .map(([name]) => name);
}

/** Whether `file` stops in the middle of a line. Few finished files do, and many that are being written. */
export async function endsAbruptly(file: string): Promise<boolean> {
  try {
    const handle = await open(file);
    try {
      const { size } = await handle.stat();
      const { buffer, bytesRead } = await handle.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1));
      return bytesRead === 0 || !['\n', '}', ']'].includes(buffer.toString('latin1'));
    } finally {
      await handle.close();
    }
  } catch {
    return false;
  }
}

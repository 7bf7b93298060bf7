// Every view by name, and whose it is: ours, the operator's, or the operator's that was made from an older one of ours.
import { readFileSync } from 'node:fs';
import { fingerprintOf, readMark } from './ejection.ts';
import { listViewFiles } from './view-files.ts';

export type ViewState = 'built-in' | 'overridden' | 'outdated' | 'added';

export type ListedView = {
  readonly name: string;
  readonly state: ViewState;
  /** The file in force. */
  readonly file: string;
};

export function listViews(builtInFolder: string, overrideFolder: string | undefined): readonly ListedView[] {
  const builtIn = listViewFiles(builtInFolder);
  const custom = overrideFolder === undefined ? new Map<string, string>() : listViewFiles(overrideFolder);
  const names = [...new Set([...builtIn.keys(), ...custom.keys()])].toSorted();
  return names.map((name) => {
    const [ours, theirs] = [builtIn.get(name), custom.get(name)];
    return { name, state: stateOf(ours, theirs), file: theirs ?? ours ?? '' };
  });
}

function stateOf(ours: string | undefined, theirs: string | undefined): ViewState {
  if (theirs === undefined) return 'built-in';
  if (ours === undefined) return 'added';
  const mark = readMark(readFileSync(theirs, 'utf8'));
  const isCurrent = mark === undefined || mark.fingerprint === fingerprintOf(readFileSync(ours, 'utf8'));
  return isCurrent ? 'overridden' : 'outdated';
}

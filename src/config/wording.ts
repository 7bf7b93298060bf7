// Suggests the right name for a misspelled one.

/** `: did you mean "group", "groups"?` with the candidates that begin with the same two letters, or nothing if there is none. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  const similar = candidates.filter(
    (one) => word.length > 1 && one.startsWith(word.slice(0, 2).toLowerCase()),
  );
  return similar.length === 0 ? '' : `: did you mean "${similar.join('", "')}"?`;
}

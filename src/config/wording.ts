// Suggests the right name for a misspelled one.

/** `: did you mean "staff"?` with the most similar candidate, or nothing if none is similar. */
export function didYouMean(word: string, candidates: readonly string[]): string {
  // A word this long is not a typo, and the distance takes quadratic time.
  if (word.length > 64) return '';
  const normal = word.toLowerCase().replaceAll('-', '_');
  const [best] = candidates
    .map((candidate) => ({ candidate, distance: distance(normal, candidate) }))
    .toSorted((left, right) => left.distance - right.distance);
  return best !== undefined && best.distance <= Math.min(3, Math.ceil(normal.length / 3))
    ? `: did you mean "${best.candidate}"?`
    : '';
}

/** Levenshtein distance. */
function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= right.length; j += 1) {
      const change = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

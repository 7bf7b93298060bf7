// Names in one line of a message, however many there are.

const MOST = 10;

/** `alice, bob, and 37 more` */
export function listedNames(names: readonly string[]): string {
  const more = names.length - MOST;
  return [...names.slice(0, MOST), ...(more > 0 ? [`and ${more} more`] : [])].join(', ');
}

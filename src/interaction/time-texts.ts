// Times as pages show them.

/** The day of `at` (epoch seconds) in the language of the page. */
export const toDayText = (at: number, locale: string): string =>
  new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).format(at * 1000);

/** `at` (epoch seconds) in the language of the page. */
export function toTimeText(at: number, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(at * 1000)} UTC`;
}

// A time of a model as the page has it until page.js turns it into "2 minutes ago".

/** `at`: epoch seconds. */
export function toTimeText(at: number, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(at * 1000)} UTC`;
}

// Times of a model in the language of the page.

/** `at`: epoch seconds. Returns the text that page.js turns into "2 minutes ago". */
export function toTimeText(at: number, locale: string): string {
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' });
  return `${format.format(at * 1000)} UTC`;
}

/** "in 20 minutes" or "in 3 hours". */
export function toDelayText(minutes: number, locale: string): string {
  const format = new Intl.RelativeTimeFormat(locale);
  return minutes > 90 ? format.format(Math.ceil(minutes / 60), 'hour') : format.format(minutes, 'minute');
}

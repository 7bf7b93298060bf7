// Chooses the language of a page from what the browser, the app and the user asked for.

export const DEFAULT_LOCALE = 'en';

/** What is known of a user's language, as received. */
export type LanguageWishes = Readonly<{
  /** Chosen on one of our pages; takes precedence over the app's wish. */
  chosen?: string | undefined;
  /** OIDC Core §3.1.2.1 `ui_locales`. */
  uiLocales?: string | undefined;
  /** The ranges of Accept-Language, in order of preference. */
  acceptLanguage?: readonly string[] | undefined;
}>;

/** The rest of a longer list is ignored. */
const MAX_LENGTH = 300;
const MAX_RANGES = 60;
const RTL = new Set(['ar', 'arc', 'ckb', 'dv', 'fa', 'he', 'ks', 'ps', 'sd', 'syr', 'ug', 'ur', 'yi']);

/** Returns one of `available`. */
export function chooseLocale(wishes: LanguageWishes, available: readonly string[]): string {
  const ranges = [
    wishes.chosen ?? '',
    ...(wishes.uiLocales ?? '').slice(0, MAX_LENGTH).split(' '),
    ...(wishes.acceptLanguage ?? []),
  ];
  for (const range of ranges.slice(0, MAX_RANGES)) {
    const found = lookUp(range, available);
    if (found !== undefined) return found;
  }
  return DEFAULT_LOCALE;
}

/** RFC 4647 §3.4: `de` serves `de-AT`; a language without its own texts is served by its only region. */
function lookUp(range: string, available: readonly string[]): string | undefined {
  const parts = range.trim().toLowerCase().split('-');
  if (parts[0] === '' || parts.length > 5) return undefined;
  for (let length = parts.length; length > 0; length -= 1) {
    const tag = parts.slice(0, length).join('-');
    const found = available.find((one) => one.toLowerCase() === tag);
    if (found !== undefined) return found;
  }
  return available.find((one) => one.toLowerCase().startsWith(`${parts[0]}-`));
}

export const directionOf = (locale: string): 'ltr' | 'rtl' =>
  RTL.has(locale.toLowerCase().split('-')[0] ?? '') ? 'rtl' : 'ltr';

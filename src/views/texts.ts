// The texts of the pages, by language. Order: the administrator's file of that language, the built-in one, the administrator's
// English, the built-in English. Placeholders are `{{name}}`; there is no other notation. A text with a `count` can have plural
// forms: `KEY.one`, `KEY.few` … `KEY.other` (the categories of Intl.PluralRules).
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { DEFAULT_LOCALE } from './locale.ts';
import { listViewFiles } from './view-files.ts';

type LocaleFile = ReadonlyMap<string, string>;
type LocaleFiles = ReadonlyMap<string, LocaleFile>;

/** A piece of a sentence: words of the language, or an inserted value. */
type TextPart = Readonly<{ text: string; isValue: boolean }>;
export type TextValues = Readonly<Record<string, string | number>>;

export type Texts = ReturnType<typeof createTexts>;

const LOCALE_FILE = /^locales\/([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)\.json$/;

/** Reads `locales/*.json` of a views folder. Calls `onBroken` for a file that can't be read or isn't a map of texts. */
export function loadLocaleFiles(
  folder: string,
  onBroken: (file: string, cause: unknown) => void,
): LocaleFiles {
  const files = new Map<string, LocaleFile>();
  for (const [name, file] of listViewFiles(folder)) {
    const locale = LOCALE_FILE.exec(name)?.[1];
    if (locale === undefined) continue;
    try {
      Intl.getCanonicalLocales(locale);
      files.set(locale, parseLocaleFile(readFileSync(file, 'utf8')));
    } catch (cause) {
      onBroken(file, cause);
    }
  }
  return files;
}

/** Throws for anything but one object of texts. */
export function parseLocaleFile(text: string): LocaleFile {
  const found = z.record(z.string(), z.string()).safeParse(JSON.parse(text.replace(/^\uFEFF/, '')));
  if (!found.success) throw new TypeError('must be one object: key -> text');
  return new Map(Object.entries(found.data));
}

/** `custom` wins key by key; it may add languages. */
export function createTexts(builtIn: LocaleFiles, custom: LocaleFiles) {
  const locales: readonly string[] = [...new Set([...builtIn.keys(), ...custom.keys()])].toSorted();

  /** Returns undefined when no language has the key. `count` chooses the plural form. */
  function find(locale: string, key: string, count?: number): string | undefined {
    for (const tag of [locale, DEFAULT_LOCALE]) {
      const forms = count === undefined ? [] : [new Intl.PluralRules(tag).select(count), 'other'];
      const keys = [...forms.map((form) => `${key}.${form}`), key];
      for (const file of [custom.get(tag), builtIn.get(tag)]) {
        const found = keys.find((one) => file?.has(one));
        if (found !== undefined) return file?.get(found);
      }
    }
    return undefined;
  }

  return {
    locales,
    find,
    nameOf(locale: string): string {
      const own = custom.get(locale)?.get('language') ?? builtIn.get(locale)?.get('language');
      return own ?? new Intl.DisplayNames([locale], { type: 'language' }).of(locale) ?? locale;
    },
  };
}

export const placeholdersOf = (text: string): string[] =>
  [...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name);

/** Splits a sentence, for a page that shows values in another type. A placeholder without a value stays. */
export function toParts(text: string, values: TextValues): readonly TextPart[] {
  const pieces = text.split(/(\{\{\s*\w+\s*\}\})/).filter((piece) => piece !== '');
  return pieces.map((piece) => {
    const [name = ''] = placeholdersOf(piece);
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    return { text: String(value ?? piece), isValue: value !== undefined };
  });
}

export function fill(text: string, values: TextValues): string {
  return toParts(text, values)
    .map((part) => part.text)
    .join('');
}

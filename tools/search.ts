// The settings of the site's search: the same in the build, in the browser and in the test.
import type { Options } from 'minisearch';

/** A heading with the text below it. `id` is its address. */
export type Section = Readonly<{ id: string; title: string; heading: string; text: string }>;

export const SEARCH: Options<Section> = {
  fields: ['title', 'heading', 'text'],
  storeFields: ['title', 'heading'],
  tokenize: (text) => [...text.split(/[\s\p{P}]+/u), ...(text.match(/\w+-\w+/g) ?? [])],
  // Makes `rotate`, `rotation` and `rotating` one word.
  processTerm: (word) => word.toLowerCase().replace(/(?<=.{4})(?:ions?|ing|ed|es|e|s)$/, ''),
  searchOptions: {
    combineWith: 'AND',
    prefix: true,
    boost: { title: 6, heading: 4 },
    // These pages mention everything, and are rarely the target of a search.
    boostDocument: (id: string) => (/^(?:CHANGELOG|bench|docs\/(?:decisions|views))/.test(id) ? 0.1 : 1),
  },
};

// A store that fails at one moment of a key's life: calls back after a key is generated and after each write of the ring, with the
// changes of that write, so that a test can throw there or end the process.
import type { KeyStoreOptions } from '../../../src/keys/key-store.ts';
import type { Ring, RingKey } from '../../../src/keys/ring.ts';
import { KEYS_COLLECTION, RING_ID } from '../../../src/keys/ring-document.ts';
import type { DocumentStore } from '../../../src/store/store.ts';

export const MOMENTS = ['generate', 'persist', 'publish', 'activate', 'retire', 'remove'] as const;
export type Moment = (typeof MOMENTS)[number];

type Parts = Pick<KeyStoreOptions, 'documents' | 'generateKey'>;

export function withMoments({ documents, generateKey }: Parts, reach: (moment: Moment) => void): Parts {
  return {
    documents: withWrites(documents, (before, after) => {
      for (const moment of momentsBetween(before, after)) reach(moment);
    }),
    async generateKey(alg) {
      const material = await generateKey(alg);
      reach('generate');
      return material;
    },
  };
}

/** `documents`, with `written` called after each write of the ring. */
function withWrites(
  documents: DocumentStore,
  written: (before: Ring | undefined, after: Ring) => void,
): DocumentStore {
  return {
    get: (collection, id) => documents.get(collection, id),
    getAll: (...which) => documents.getAll(...which),
    list: (collection) => documents.list(collection),
    page: (...which) => documents.page(...which),
    put: (...write) => documents.put(...write),
    remove: (...which) => documents.remove(...which),
    async putAll(collection, writes) {
      const ring = writes.find(({ id }) => collection === KEYS_COLLECTION && id === RING_ID);
      const before = ring && (await documents.get(collection, RING_ID));
      if (!(await documents.putAll(collection, writes))) return false;
      if (ring !== undefined) written(before && toRing(before.value), toRing(ring.value));
      return true;
    },
  };
}

function toRing(text: string): Ring {
  const { body } = JSON.parse(text) as { body: string };
  return (JSON.parse(body) as { ring: Ring }).ring;
}

function momentsBetween(before: Ring | undefined, after: Ring): readonly Moment[] {
  const known = new Map((before?.keys ?? []).map((key) => [key.kid, key]));
  const isChanged = (differs: (key: RingKey, old: RingKey | undefined) => boolean): boolean =>
    after.keys.some((key) => differs(key, known.get(key.kid)));
  const passed: Moment[] = ['persist'];
  if (isChanged((_key, old) => old === undefined)) passed.push('publish');
  if (isChanged((key, old) => key.activateAt !== old?.activateAt)) passed.push('activate');
  if (isChanged((key, old) => key.sealed === undefined && old?.sealed !== undefined)) passed.push('retire');
  if (after.gone.length > (before?.gone.length ?? 0)) passed.push('remove');
  return passed;
}

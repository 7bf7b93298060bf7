// A DocumentStore in memory, only for the unit tests of keys: it keeps the contract, shows the stored data, and
// lets a test write bytes behind the back of the code. test/store/ tests the real stores.
import {
  StoreUnavailable,
  type DocumentStore,
  type DocumentWrite,
  type StoredDocument,
} from '../../../src/store/store.ts';

export class MemoryDocuments implements DocumentStore {
  readonly #documents = new Map<string, StoredDocument>();
  /** While true, every call fails like that of an unreachable store. */
  isDown = false;
  reads = 0;

  async get(collection: string, id: string): Promise<StoredDocument | undefined> {
    await this.#reach();
    this.reads += 1;
    return this.#documents.get(`${collection}/${id}`);
  }

  async list(collection: string): Promise<readonly StoredDocument[]> {
    await this.#reach();
    return [...this.#documents].flatMap(([name, document]) =>
      name.startsWith(`${collection}/`) ? document : [],
    );
  }

  async page(collection: string) {
    return { documents: await this.list(collection) };
  }

  getAll(collection: string, ids: readonly string[]) {
    return Promise.all(ids.map((id) => this.get(collection, id)));
  }

  async put(collection: string, id: string, value: string, expectedVersion: number): Promise<boolean> {
    return this.putAll(collection, [{ id, value, expectedVersion }]);
  }

  async putAll(collection: string, writes: readonly DocumentWrite[]): Promise<boolean> {
    await this.#reach();
    const isStale = ({ id, expectedVersion }: DocumentWrite) =>
      (this.peek(collection, id)?.version ?? 0) !== expectedVersion;
    if (writes.some(isStale)) return false;
    for (const { id, value, expectedVersion } of writes)
      this.force(collection, id, value, expectedVersion + 1);
    return true;
  }

  async remove(collection: string, id: string, expectedVersion: number): Promise<boolean> {
    await this.#reach();
    const name = `${collection}/${id}`;
    return this.#documents.get(name)?.version === expectedVersion && this.#documents.delete(name);
  }

  peek(collection: string, id: string): StoredDocument | undefined {
    return this.#documents.get(`${collection}/${id}`);
  }

  /** Writes like an attacker with access to the store's files. */
  force(collection: string, id: string, value: string, version: number): void {
    this.#documents.set(`${collection}/${id}`, { id, value, version });
  }

  forget(collection: string, id: string): void {
    this.#documents.delete(`${collection}/${id}`);
  }

  async #reach(): Promise<void> {
    await Promise.resolve();
    if (this.isDown) throw new StoreUnavailable();
  }
}

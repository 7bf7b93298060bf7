// Acts in batches, because a start with thousands of users must not flood the store.
import { FormFault } from './form.ts';

/** A first start writes every user. */
const AT_ONCE = 50;

export type OnFault = (fault: FormFault) => void;

/** A document that can't be read doesn't stop it: what needs the document is rejected anyway. */
export async function inBatches<T>(
  all: readonly T[],
  act: (one: T) => Promise<unknown>,
  onFault: OnFault = () => {},
): Promise<void> {
  const actOrReport = async (one: T) =>
    act(one).catch((error: unknown) => {
      if (!(error instanceof FormFault)) throw error;
      onFault(error);
    });
  for (let start = 0; start < all.length; start += AT_ONCE) {
    await Promise.all(all.slice(start, start + AT_ONCE).map(actOrReport));
  }
}

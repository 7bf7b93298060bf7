// Users who all sign in at once, in a separate thread: their pages are opened first, then the passwords are sent.
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { User } from './people.ts';
import type { Service } from './service.ts';

export type CrowdOptions = { readonly service: Service; readonly crowd: number; readonly people: number };
/** How long passwords are sent. Seconds. */
export type CrowdOrder = number;
export type CrowdFound = { readonly signedIn: number; readonly toldToComeBack: number };

/** More than two cores can hash. */
const PAGES_A_SECOND = 200;
/** A user who gets 503 returns after this time. Milliseconds. */
const COME_BACK_MS = 1000;

const { service, crowd, people } = workerData as CrowdOptions;
let next = 0;

async function open(count: number) {
  const pages: (() => Promise<number>)[] = [];
  while (pages.length < count) {
    const opening = Array.from({ length: 16 }, () => new User(service, (next += 1) % people).openLogin());
    const opened = await Promise.allSettled(opening);
    pages.push(...opened.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : [])));
  }
  return pages;
}

async function signIn(pages: (() => Promise<number>)[], seconds: number): Promise<CrowdFound> {
  const end = performance.now() + seconds * 1000;
  const found = { signedIn: 0, toldToComeBack: 0 };
  const one = async () => {
    while (performance.now() < end) {
      const status = await pages
        .pop()?.()
        .catch(() => 0);
      if (status === undefined) return;
      if (status === 303) found.signedIn += 1;
      else {
        found.toldToComeBack += 1;
        await sleep(COME_BACK_MS);
      }
    }
  };
  await Promise.all(Array.from({ length: crowd }, one));
  return found;
}

parentPort?.on('message', (seconds: CrowdOrder) => {
  void (async () => {
    const pages = await open(crowd + PAGES_A_SECOND * seconds);
    parentPort?.postMessage('ready');
    parentPort?.postMessage(await signIn(pages, seconds));
  })();
});

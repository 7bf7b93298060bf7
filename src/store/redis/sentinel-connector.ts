// How ioredis reaches a master through Sentinels, where it is not careful enough by itself: it believes the first Sentinel that answers,
// which may be behind the others, and doesn't hear of a master that changed before it listens. Either way it would stay with the
// old one, and read there what has ended elsewhere. Owns which master is the newest; connections and retries are ioredis' own.
import type { Socket } from 'node:net';
import { type Redis, SentinelConnector } from 'ioredis';
import type { RedisNode } from '../../config/redis-url.ts';
import { toTexts } from './replies.ts';

/** What a Sentinel says. Each failover has a higher `epoch`, and a majority of the Sentinels has agreed to it. */
type Word = RedisNode & { readonly epoch: number };

/** Private in the types; the version of ioredis is pinned, and test/store/redis-sentinel-news.test.ts holds it to this. */
type Private = {
  readonly options: { readonly name: string };
  readonly sentinelIterator: { readonly sentinels: readonly RedisNode[] };
  readonly stream: Socket | undefined;
  connectToSentinel(sentinel: RedisNode, listening?: object): Redis;
  updateSentinels(client: Redis): Promise<void>;
  resolve(): Promise<RedisNode>;
};

/** After a Sentinel gave no answer. */
const AGAIN_MS = 500;

export class NewestMasterConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const own = this as unknown as Private;
    const connect = own.connectToSentinel.bind(this);
    let chosen: Word | undefined;

    async function ask(sentinel: RedisNode): Promise<Word> {
      const client = quiet(connect(sentinel));
      try {
        const { name } = own.options;
        // In this order: an address is never older than its epoch says. Not that of MASTER: who leads a failover shows the old
        // one there, with the new epoch already.
        const fields = toTexts(await client.call('SENTINEL', 'MASTER', name));
        const epoch = Number(fields[fields.indexOf('config-epoch') + 1]);
        const [host = '', port = ''] = toTexts(
          await client.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name),
        );
        await own.updateSentinels(client);
        return { host, port: Number(port), epoch };
      } finally {
        client.disconnect();
      }
    }

    own.resolve = async () => {
      const words = await Promise.allSettled(own.sentinelIterator.sentinels.map(ask));
      const [newest] = words
        .flatMap((word) => (word.status === 'fulfilled' ? [word.value] : []))
        .toSorted((one, other) => other.epoch - one.epoch);
      if (newest === undefined) throw words.find((word) => word.status === 'rejected')?.reason;
      chosen = newest;
      return { host: newest.host, port: newest.port };
    };

    /** Leaves the chosen master where this Sentinel, which is listened to, knows a newer one by now. */
    async function lookAgain(sentinel: RedisNode, listening: Redis): Promise<void> {
      const { stream } = own;
      const word = await ask(sentinel).catch(() => undefined);
      if (word === undefined && listening.status === 'ready') {
        setTimeout(() => void lookAgain(sentinel, listening), AGAIN_MS).unref();
      }
      if (word === undefined || chosen === undefined || word.epoch <= chosen.epoch) return;
      const isElsewhere = word.host !== chosen.host || word.port !== chosen.port;
      if (isElsewhere && own.stream === stream) stream?.destroy();
    }

    own.connectToSentinel = (sentinel, listening) => {
      const client = quiet(connect(sentinel, listening));
      // It subscribes as soon as it is ready, before this asks on a connection that is still to be made.
      if (listening !== undefined) client.on('ready', () => void lookAgain(sentinel, client));
      return client;
    };
  }
}

/** A Sentinel that is down is asked again, and the others meanwhile; what fails without a listener ioredis prints. */
function quiet(client: Redis): Redis {
  return client.on('error', () => undefined);
}

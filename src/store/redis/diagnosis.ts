// Why none of the servers of a URL can be used, by an attempt to connect: behind Sentinels and on a Cluster the client only knows that it
// was none of them.
import { connect as connectPlain, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { RedisPlace } from '../../config/redis-url.ts';

const CONNECT_MS = 1000;

/** Why the first of them can't be connected to, with its name; undefined when one of them can. */
export async function findObstacle({ nodes, isTls }: RedisPlace): Promise<string | undefined> {
  const found = await Promise.all(
    nodes.map(async ({ host, port }) => {
      const reason = await attempt(() =>
        isTls ? connectTls({ host, port, ...nameOf(host) }) : connectPlain({ host, port }),
      );
      return reason && `${host}:${port}: ${reason}`;
    }),
  );
  return found.includes(undefined) ? undefined : found[0];
}

/** RFC 6066 §3: an address is no server name. */
const nameOf = (host: string) => (isIP(host) === 0 ? { servername: host } : {});

function attempt(connect: () => Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect();
    const end = (reason?: string) => {
      socket.destroy();
      resolve(reason);
    };
    socket.setTimeout(CONNECT_MS, () => end('no answer'));
    // A TLS connection may fail twice: by our look at its certificate, and by what the server answers to that.
    socket.on('error', (error: NodeJS.ErrnoException) => end(error.message || error.code));
    socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => end());
  });
}

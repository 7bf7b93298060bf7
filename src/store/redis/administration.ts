// Redis as an operator looks at it: what every master says of itself.
import { connectRedis } from './connection.ts';

/** What is wrong with the servers of a Redis. Rejects with one line, without a password. */
export async function inspectRedis(url: string) {
  const connection = await connectRedis(url, async () => undefined);
  try {
    return (await connection.inspect()).map(({ name, findings }) => ({
      server: name === 'master' ? connection.label : name,
      findings,
    }));
  } finally {
    await connection.close();
  }
}

// How ioredis reaches a master through Sentinels, but quietly: the connections by which it hears of a new master have no listener for
// errors there, and whatever fails without one ioredis prints on standard error, between the lines of the log. Owns nothing else.
import { type Redis, SentinelConnector } from 'ioredis';

/** Private in the types. */
type Connecting = { connectToSentinel: (...args: readonly unknown[]) => Redis };

export class QuietSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as ConstructorParameters<typeof SentinelConnector>[0]);
    const own = this as unknown as Connecting;
    const connect = own.connectToSentinel.bind(this);
    // A Sentinel that is down is asked again by itself, and the others meanwhile.
    own.connectToSentinel = (...rest) => connect(...rest).on('error', () => undefined);
  }
}

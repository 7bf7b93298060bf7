// One rule for the client's address: the rightmost hop that isn't a trusted proxy; IPv6 counts by /64.
import { isIP } from 'node:net';
import { addressList } from '../config/address-list.ts';

export type ClientAddress = (peer: string, forwardedFor: string | undefined) => string;

/** `trustedProxies`: addresses and CIDRs, validated by the configuration. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const isTrusted = addressList(trustedProxies);

  return function clientAddress(peer, forwardedFor) {
    let address = unmapped(peer);
    const hops = forwardedFor?.split(',') ?? [];
    // From the right: an entry is trusted only if the hop that added it is.
    while (isTrusted(address)) {
      const hop = hops.pop()?.trim();
      const next = hop === undefined ? '' : unmapped(withoutPort(hop));
      if (isIP(next) === 0) break;
      address = next;
    }
    return isIP(address) === 6 ? prefixOf(address) : address;
  };
}

const MAPPED = /^[0:]+:ffff:(?:(\d+\.[\d.]+)|([\da-f]+):([\da-f]+))$/i;

/** `::ffff:192.0.2.1`, in hex `::ffff:c000:201`, is the IPv4 address that it carries (RFC 4291 §2.5.5.2). */
function unmapped(address: string): string {
  const [, carried, high = '', low = ''] = (isIP(address) === 6 && MAPPED.exec(address)) || [''];
  if (carried !== undefined || high === '') return carried ?? address;
  return [high, low].flatMap((group) => [...Buffer.from(group.padStart(4, '0'), 'hex')]).join('.');
}

function withoutPort(hop: string): string {
  if (hop.startsWith('[')) return hop.slice(1, Math.max(1, hop.indexOf(']')));
  return isIP(hop) === 0 ? hop.replace(/:\d+$/, '') : hop;
}

/** A household or server has a whole /64, so limits count it as one client. */
function prefixOf(address: string): string {
  const [head = '', tail = ''] = (address.split('%')[0] ?? '').split('::');
  const left = head === '' ? [] : head.split(':');
  const right = tail === '' ? [] : tail.split(':');
  const zeros = address.includes('::') ? Array<string>(8 - left.length - right.length).fill('0') : [];
  const groups = [...left, ...zeros, ...right].slice(0, 4);
  return `${groups.map((group) => Number.parseInt(group, 16).toString(16)).join(':')}::/64`;
}

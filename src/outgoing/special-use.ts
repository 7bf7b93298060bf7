// Which addresses are public, and which belong to a private network or to this machine: RFC 6890 and IANA's registries.
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import { addressList } from '../config/address-list.ts';

/** All of IPv4 is public except these. */
const IPV4_SPECIAL = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** Nothing of IPv6 is public except this and, where a network translates it, IPv4 (NAT64, RFC 6052) … */
const IPV6_GLOBAL = ['2000::/3', '64:ff9b::/96'];
/** … without these: protocol assignments with Teredo, documentation, 6to4, AS112, and special IPv4 that would be translated. */
const IPV6_SPECIAL = [
  '2001::/23',
  '2001:db8::/32',
  '2002::/16',
  '2620:4f:8000::/48',
  '3fff::/20',
  ...IPV4_SPECIAL.map((cidr) =>
    cidr.replace(/(.*)\/(\d+)/, (_, network, bits) => `64:ff9b::${network}/${96 + Number(bits)}`),
  ),
];

const GLOBAL = addressList(['0.0.0.0/0', ...IPV6_GLOBAL]);
const SPECIAL = addressList([...IPV4_SPECIAL, ...IPV6_SPECIAL]);
/** Private networks, including shared address space (RFC 6598). */
const PRIVATE = addressList(['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7']);
const LOOPBACK = addressList(['127.0.0.0/8', '::1/128']);

export const isPublicAddress = (address: string) => contains(GLOBAL, address) && !contains(SPECIAL, address);

export const isPrivateAddress = (address: string) => contains(PRIVATE, address);

export const isLoopbackAddress = (address: string) => contains(LOOPBACK, address);

/** Whether it is a broadcast address of this machine's networks (RFC 919), read each time as interfaces change. IPv6 has none. */
export function isOwnBroadcast(address: string): boolean {
  return Object.values(networkInterfaces())
    .flat()
    .some((own) => own?.family === 'IPv4' && broadcastOf(own) === address);
}

/** Undefined for a network of one or two addresses, which has none (RFC 3021). */
function broadcastOf({ address, netmask }: Readonly<{ address: string; netmask: string }>) {
  const mask = netmask.split('.').map(Number);
  if ((mask[3] ?? 0) > 252) return undefined;
  return address
    .split('.')
    .map((byte, index) => Number(byte) | (255 - (mask[index] ?? 0)))
    .join('.');
}

/** No list contains an IPv4 address in IPv6 (`::ffff:10.0.0.1`): BlockList would compare it with the rules for IPv4. */
function contains(isListed: (address: string) => boolean, address: string): boolean {
  const isUnfit = isIP(address) === 0 || address.includes('%') || /^::ffff:/i.test(address);
  return !isUnfit && isListed(address);
}

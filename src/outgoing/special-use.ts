// Which addresses lead out to the internet, and which to a private network or to this machine: RFC 6890 and IANA's registries.
import { BlockList, isIP } from 'node:net';

/** Of IPv4 all is public but these. */
const IPV4_SPECIAL = subnets('ipv4', [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]);
/** Of IPv6 nothing is public but this, which leaves mapped, translated (NAT64) and local addresses out … */
const IPV6_GLOBAL = subnets('ipv6', ['2000::/3']);
/** … and of it not these: protocol assignments with Teredo, documentation, and 6to4, which hides an IPv4 address. */
const IPV6_SPECIAL = subnets('ipv6', ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']);

/** Of a private network, shared address space (RFC 6598) and NAT64 (RFC 6052) with it. */
const PRIVATE: readonly BlockList[] = [
  subnets('ipv4', ['10.0.0.0/8', '100.64.0.0/10', '172.16.0.0/12', '192.168.0.0/16']),
  subnets('ipv6', ['64:ff9b::/96', 'fc00::/7']),
];
/** This machine and its link, where a cloud's metadata service is. */
const LOCAL: readonly BlockList[] = [
  subnets('ipv4', ['127.0.0.0/8', '169.254.0.0/16']),
  subnets('ipv6', ['::1/128', 'fe80::/10']),
];

export function isPublicAddress(address: string): boolean {
  return isIP(address) === 4
    ? !contains(IPV4_SPECIAL, address)
    : contains(IPV6_GLOBAL, address) && !contains(IPV6_SPECIAL, address);
}

export function isPrivateAddress(address: string): boolean {
  return PRIVATE.some((list) => contains(list, address));
}

/** Loopback and link-local. */
export function isLocalAddress(address: string): boolean {
  return LOCAL.some((list) => contains(list, address));
}

/** An IPv4 address in IPv6 (`::ffff:10.0.0.1`) is in no list: BlockList would compare it with the rules for IPv4. */
function contains(list: BlockList, address: string): boolean {
  const version = isIP(address);
  if (version === 0 || address.includes('%') || /^::ffff:/i.test(address)) return false;
  return list.check(address, version === 4 ? 'ipv4' : 'ipv6');
}

function subnets(family: 'ipv4' | 'ipv6', cidrs: readonly string[]): BlockList {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = '', prefix] = cidr.split('/');
    list.addSubnet(network, Number(prefix), family);
  }
  return list;
}

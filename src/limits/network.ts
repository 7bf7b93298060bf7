// The network of an address, for limits: a caller with one of its addresses often has them all.

/** IPv4 by /24; IPv6 (which arrives as its /64) by /48. Other text is its own network. */
export function networkOf(address: string): string {
  if (/^\d+\.\d+\.\d+\.\d+$/.test(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  const groups = address.split('::', 1)[0]?.split(':') ?? [];
  return address.includes(':') ? `${groups.slice(0, 3).join(':')}::/48` : address;
}

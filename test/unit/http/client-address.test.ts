import { describe, expect, it } from 'vitest';
import { createClientAddress } from '../../../src/http/client-address.ts';

const PROXIES = ['10.0.0.0/8', '192.0.2.7', 'fd00::/8', '2001:db8:ffff::1'];

describe('the address of a client', () => {
  const address = createClientAddress(PROXIES);

  it.each([
    ['a peer that is no proxy, whatever it says', '203.0.113.5', '198.51.100.1', '203.0.113.5'],
    ['what the proxy reports', '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['a proxy given as one address', '192.0.2.7', '198.51.100.1', '198.51.100.1'],
    ['its neighbour, which is no proxy', '192.0.2.8', '198.51.100.1', '192.0.2.8'],
    ['the rightmost hop', '10.1.2.3', '1.1.1.1, 2.2.2.2, 198.51.100.1', '198.51.100.1'],
    ['the rightmost that is not a proxy', '10.1.2.3', '1.1.1.1, 198.51.100.1, 10.9.9.9', '198.51.100.1'],
    ['the first proxy of all where everybody is one', '10.1.2.3', '10.4.4.4, 10.5.5.5', '10.4.4.4'],
    ['the proxy where it reports nobody', '10.1.2.3', undefined, '10.1.2.3'],
    ['the proxy where it reports nothing', '10.1.2.3', '', '10.1.2.3'],
    ['the proxy where it reports junk', '10.1.2.3', 'unknown', '10.1.2.3'],
    ['the last good hop where junk stands before it', '10.1.2.3', 'junk, 10.5.5.5', '10.5.5.5'],
    ['the hop beside junk that is further left', '10.1.2.3', '<script>, 198.51.100.1', '198.51.100.1'],
    ['a hop with a port', '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['a hop with spaces around', '10.1.2.3', '  198.51.100.1  ', '198.51.100.1'],
    ['an IPv4 address in IPv6 clothes', '::ffff:203.0.113.5', undefined, '203.0.113.5'],
    ['a proxy in IPv6 clothes', '::FFFF:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['an IPv4 address in hex', '::ffff:cb00:7105', undefined, '203.0.113.5'],
    ['a proxy in hex, written out', '0:0:0:0:0:FFFF:a01:203', '198.51.100.1', '198.51.100.1'],
    ['a hop in hex', '10.1.2.3', '[0::ffff:0102:304]:80', '1.2.3.4'],
    ['an IPv6 address that only looks so', '::ffff:1234', undefined, '0:0:0:0::/64'],
    ['a hop in IPv6 clothes', '10.1.2.3', '::ffff:198.51.100.1', '198.51.100.1'],
    ['an IPv6 peer, by its network', '2001:db8:1:2:3:4:5:6', undefined, '2001:db8:1:2::/64'],
    ['a shortened IPv6 peer', '2001:db8::1', undefined, '2001:db8:0:0::/64'],
    ['loopback', '::1', undefined, '0:0:0:0::/64'],
    ['zeros and capitals', '2001:0DB8:0001:0002::9', undefined, '2001:db8:1:2::/64'],
    ['a zone', 'fe80::1%eth0', undefined, 'fe80:0:0:0::/64'],
    ['an IPv6 proxy’s hop', 'fd00::1', '2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['an IPv6 proxy given as one address', '2001:db8:ffff::1', '198.51.100.1', '198.51.100.1'],
    ['a hop in brackets with a port', 'fd00::1', '[2001:db8:1:2::9]:443', '2001:db8:1:2::/64'],
  ])('is %s', (_case, peer, forwardedFor, expected) => {
    expect(address(peer, forwardedFor)).toBe(expected);
  });

  it('is one for a whole /64 and another for the next', () => {
    const one = address('2001:db8:1:2::1', undefined);
    expect(address('2001:db8:1:2:ffff:ffff:ffff:ffff', undefined)).toBe(one);
    expect(address('2001:db8:1:3::1', undefined)).not.toBe(one);
  });

  it('is the peer’s where no proxy is trusted', () => {
    const untrusting = createClientAddress([]);
    expect(untrusting('127.0.0.1', '198.51.100.1')).toBe('127.0.0.1');
  });
});

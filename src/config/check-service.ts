// The rules between top-level keys.
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { list } from '../features/index.ts';
import type { ClientContext } from './check-clients.ts';
import { timingProblems, toTimingInput } from './key-times.ts';
import type { Entry, Rule } from './rules.ts';
import type { ResourceForm } from './schema-client.ts';
import type { ServiceForm } from './schema.ts';

const RULES: readonly Rule<ServiceForm, ClientContext>[] = list('serviceRules');

const ANY_HOST = ['0.0.0.0', '::', '[::]'];

export function checkService(
  service: Entry<ServiceForm>,
  resources: readonly Entry<ResourceForm>[],
  context: ClientContext,
): void {
  const { listen, management, trusted_proxies: proxies } = service.value;
  const hosts = [listen.host, management.host];
  const isOneHost = hosts[0] === hosts[1] || hosts.some((host) => ANY_HOST.includes(host));
  if (listen.port !== 0 && listen.port === management.port && isOneHost)
    service.report(['management'], 'must not be the same as listen');
  checkSignIns(service);
  checkKeyTimes(service, resources);
  for (const { at, fault } of RULES) {
    const message = fault(service.value, context);
    if (message) service.report(at.split('.'), message);
  }
  const faults = proxies.map(proxyFault);
  for (const [index, fault] of faults.entries()) if (fault) service.report(['trusted_proxies', index], fault);
  if (faults.some(Boolean)) return;
  const isTrusted = trustOf(proxies);
  if (EVERYWHERE.some((some) => some.every(isTrusted))) service.report(['trusted_proxies'], TRUSTS_EVERYBODY);
}

const TRUSTS_EVERYBODY = 'trusts everybody: anyone could forge their address';

/** An address in each part of the internet. */
const EVERYWHERE = [
  Array.from({ length: 223 }, (_, index) => `${index + 1}.1.2.3`),
  Array.from({ length: 32 }, (_, index) => `${(index + 32).toString(16)}01::1`),
];

const familyOf = (address: string) => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** `proxies`: valid addresses and CIDRs. */
export function trustOf(proxies: readonly string[]): (address: string) => boolean {
  const trusted = new BlockList();
  for (const entry of proxies) {
    const [address = '', prefix] = entry.split('/');
    if (prefix === undefined) trusted.addAddress(address, familyOf(address));
    else trusted.addSubnet(address, Number(prefix), familyOf(address));
  }
  return (address) => trusted.check(address, familyOf(address));
}

function checkSignIns({ value, report }: Entry<ServiceForm>): void {
  const { lifetimes } = value;
  if (lifetimes.refreshToken > lifetimes.refreshTokenAbsolute)
    report(['lifetimes'], 'refresh_token must not be longer than refresh_token_absolute');
}

function checkKeyTimes(
  { value, report }: Entry<ServiceForm>,
  resources: readonly Entry<ResourceForm>[],
): void {
  const input = toTimingInput({
    lifetimes: value.lifetimes,
    signingKeys: value.signing_keys,
    resources: resources.map((resource) => ({ accessToken: resource.value.access_token })),
  });
  for (const message of timingProblems(input)) report(['signing_keys'], message);
}

function proxyFault(proxy: string): string | undefined {
  const [address = '', prefix = ''] = proxy.split('/');
  const bits = [32, 128][[isIPv4(address), isIPv6(address)].indexOf(true)] ?? -1;
  if (proxy !== address && Number(prefix) === 0) return TRUSTS_EVERYBODY;
  return bits > 0 &&
    (proxy === address || (`${address}/${Number(prefix)}` === proxy && Number(prefix) <= bits))
    ? undefined
    : 'must be an address or a CIDR, such as 10.0.0.0/8';
}

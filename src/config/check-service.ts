// The rules between top-level keys. Whether the signing keys' times are safe is said by keys/timing.ts.
import { isIPv4, isIPv6 } from 'node:net';
import type { Entry } from './rules.ts';
import type { ServiceForm } from './schema.ts';

const EVERYWHERE = ['0.0.0.0', '::', '[::]'];

export function checkService(service: Entry<ServiceForm>): void {
  const { listen, management, trusted_proxies: proxies } = service.value;
  const hosts = [listen.host, management.host];
  const isOneHost = hosts[0] === hosts[1] || hosts.some((host) => EVERYWHERE.includes(host));
  if (listen.port !== 0 && listen.port === management.port && isOneHost)
    service.report(['management'], 'must not be the same as listen');
  checkSignIns(service);
  for (const [index, proxy] of proxies.entries()) {
    const fault = proxyFault(proxy);
    if (fault) service.report(['trusted_proxies', index], fault);
  }
}

function checkSignIns({ value, report }: Entry<ServiceForm>): void {
  const { sign_in: signIn, lifetimes } = value;
  if (signIn && !signIn.passkeys && !signIn.oneTimeCodes) {
    if (signIn.secondFactor === 'required' || signIn.recoveryCodes > 0)
      report(['sign_in'], 'second_factor: required and recovery_codes need passkeys or one_time_codes');
  }
  if (lifetimes.refreshToken > lifetimes.refreshTokenAbsolute)
    report(['lifetimes'], 'refresh_token must not be longer than refresh_token_absolute');
}

function proxyFault(proxy: string): string | undefined {
  const [address = '', prefix = ''] = proxy.split('/');
  const bits = [32, 128][[isIPv4(address), isIPv6(address)].indexOf(true)] ?? -1;
  if (proxy !== address && Number(prefix) === 0) return 'trusts everybody: anyone could forge their address';
  return bits > 0 &&
    (proxy === address || (`${address}/${Number(prefix)}` === proxy && Number(prefix) <= bits))
    ? undefined
    : 'must be an address or a CIDR, such as 10.0.0.0/8';
}

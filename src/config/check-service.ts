// The rules between top-level keys. Whether the signing keys' times are safe is said by keys/timing.ts.
import { BlockList, isIPv4, isIPv6 } from 'node:net';
import { applyRules, type Entry, ruleFor } from './rules.ts';
import type { ServiceForm } from './schema.ts';

const rule = ruleFor<ServiceForm, undefined>();

const EVERYWHERE = new Set(['0.0.0.0', '::', '[::]']);

const RULES = [
  rule(['management', 'listen'], ({ listen, management }) => {
    const samePort = listen.port !== 0 && listen.port === management.port;
    const sameHost =
      listen.host === management.host || EVERYWHERE.has(listen.host) || EVERYWHERE.has(management.host);
    return samePort && sameHost ? 'must not be the same as listen' : undefined;
  }),
  rule(['sign_in'], ({ sign_in: signIn }) => {
    if (signIn === undefined || signIn.passkeys || signIn.oneTimeCodes) return undefined;
    if (signIn.recoveryCodes > 0)
      return 'recovery_codes stand in for a factor: add passkeys or one_time_codes';
    return signIn.secondFactor === 'required'
      ? 'second_factor: required needs passkeys or one_time_codes'
      : undefined;
  }),
  rule(['acr'], ({ acr }) =>
    acr !== undefined && new Set(Object.values(acr)).size < Object.keys(acr).length
      ? 'two levels must not have one name'
      : undefined,
  ),
  rule(['lifetimes'], ({ lifetimes }) =>
    lifetimes.refreshToken > lifetimes.refreshTokenAbsolute
      ? 'refresh_token must not be longer than refresh_token_absolute'
      : undefined,
  ),
];

export function checkService(service: Entry<ServiceForm>): void {
  applyRules(RULES, service, undefined);
  for (const [index, proxy] of (service.value.trusted_proxies ?? []).entries()) {
    const fault = proxyFault(proxy);
    if (fault !== undefined) service.report(['trusted_proxies', index], fault);
  }
}

function proxyFault(proxy: string): string | undefined {
  const [address = '', prefix, ...more] = proxy.split('/');
  const family = isIPv4(address) ? 'ipv4' : 'ipv6';
  if (family === 'ipv6' && !isIPv6(address)) return 'must be an address or a CIDR, such as 10.0.0.0/8';
  if (prefix === undefined) return undefined;
  if (more.length > 0 || !/^\d{1,3}$/.test(prefix)) return 'must be a CIDR, such as 10.0.0.0/8';
  if (Number(prefix) === 0) return 'trusts everybody: anyone could forge their address';
  try {
    new BlockList().addSubnet(address, Number(prefix), family);
    return undefined;
  } catch {
    return 'has a prefix that is too long for its address';
  }
}

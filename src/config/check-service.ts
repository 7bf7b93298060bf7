// The rules between top-level keys.
import { list } from '../features/index.ts';
import { addressList } from './address-list.ts';
import type { Parts } from './check-access.ts';
import type { ClientContext } from './check-clients.ts';
import { timingProblems, toTimingInput } from './key-times.ts';
import type { Rule } from './rules.ts';
import type { ServiceForm } from './schema.ts';

const RULES: readonly Rule<ServiceForm, ClientContext>[] = list('serviceRules');

const ANY_HOST = ['0.0.0.0', '::', '[::]'];

export function checkService({ service, resources }: Parts, context: ClientContext): void {
  const {
    listen,
    management,
    trusted_proxies: proxies,
    lifetimes,
    signing_keys: signingKeys,
  } = service.value;
  const hosts = [listen.host, management.host];
  const isOneHost = hosts[0] === hosts[1] || hosts.some((host) => ANY_HOST.includes(host));
  if (listen.port !== 0 && listen.port === management.port && isOneHost)
    service.report(['management'], 'uses the same address as listen: choose another port');
  const apis = resources.list.map(({ value }) => ({ accessToken: value.access_token }));
  for (const message of timingProblems(toTimingInput({ lifetimes, signingKeys, resources: apis })))
    service.report(['signing_keys'], message);
  for (const { at, fault } of RULES) {
    const message = fault(service.value, context);
    if (message) service.report(at.split('.'), message);
  }
  const isTrusted = addressList(proxies);
  if (EVERYWHERE.some((some) => some.every(isTrusted)))
    service.report(['trusted_proxies'], 'trusts all addresses: list only your proxies');
}

/** An address in each part of the internet. */
const EVERYWHERE = [
  Array.from({ length: 223 }, (_, index) => `${index + 1}.1.2.3`),
  Array.from({ length: 32 }, (_, index) => `${(index + 32).toString(16)}01::1`),
];

// The client address that limits use behind a proxy. No response contains it, but the audit trail has the address of each rejected
// token request, if its file can be read here.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { AuditConfig } from '../../config/config.ts';
import { isLoopbackHost } from '../../config/uri.ts';
import { createClientAddress } from '../../http/client-address.ts';
import { isPublicAddress } from '../../outgoing/special-use.ts';
import { askEndpoint, Skipped, type ReportFault, type Target } from './check.ts';

/** RFC 5737: an address that no host has. */
const FORGED = '192.0.2.66';
const LOOPBACK = '127.0.0.1';
/** A second address on this machine, so that requests of the doctor differ from those of a proxy beside it. */
const ANOTHER_LOOPBACK = '127.0.0.99';
/** Records are written in the background, and others are written meanwhile. */
const ATTEMPTS = 20;
const PAUSE_MS = 100;
const TAIL_BYTES = 256 * 1024;

export async function checkClientAddress(target: Target, report: ReportFault): Promise<string> {
  const { config, issuer } = target;
  if (!config) throw new Skipped('the client address can only be checked with the configuration');
  const { trustedProxies } = config;
  if (issuer.startsWith('https:') && lacksProxy(trustedProxies, config.listen.host))
    report(
      'trusted-proxies-wrong',
      'trusted_proxies does not include the proxy, so all clients share its address and limits',
    );
  const plain = await askForRecord(target);
  const forged = await askForRecord(target, { 'x-forwarded-for': FORGED });
  const [seen = '', seenForged] = await readAddresses(config.audit, [plain.id, forged.id]);
  if (seenForged === undefined) {
    const record = `the record of request ${plain.id} has the address ${plain.from}`;
    throw new Skipped(`the audit trail can't be read here: check that ${record}`);
  }
  if (seenForged === FORGED) {
    if (isTrusted(trustedProxies, plain.from))
      throw new Skipped(`${plain.from} is in trusted_proxies: run this command on another machine`);
    report('forwarded-for-forged', 'Postern accepts X-Forwarded-For from any client');
  }
  const lost = judgeSeen(seen, plain.from, trustedProxies);
  const message = `Postern sees clients from ${plain.from} as ${seen}, so all clients there share limits`;
  if (lost) report('client-address-lost', message, lost);
  return `limits use the address that the proxy sees (${seen})`;
}

/** What differs may rightly be that of a gateway between this machine and the proxy. */
function judgeSeen(seen: string, from: string, trustedProxies: readonly string[]) {
  if (seen === asCounted(from)) return undefined;
  if ([LOOPBACK, asCounted('::1')].includes(seen) || isTrusted(trustedProxies, seen)) return 'problem';
  return isPublicAddress(withoutPrefix(seen)) ? undefined : 'warning';
}

/** TLS ends at a proxy, which is on this machine where nothing else reaches the service. */
function lacksProxy(trustedProxies: readonly string[], host: string): boolean {
  if (!isLoopbackHost(host)) return trustedProxies.length === 0;
  return !isTrusted(trustedProxies, host === 'localhost' ? LOOPBACK : host);
}

const isTrusted = (trustedProxies: readonly string[], address: string): boolean =>
  createClientAddress(trustedProxies)(withoutPrefix(address), FORGED) === FORGED;

const withoutPrefix = (address: string) => address.replace(/\/64$/, '');

/** As the limits count it: IPv6 by /64. */
const asCounted = (address: string): string => createClientAddress([])(address, undefined);

/** A token request without a client, which is refused and recorded. */
async function askForRecord(target: Target, headers: Readonly<Record<string, string>> = {}) {
  const { hostname } = new URL(target.at);
  const isIpv4 = hostname === 'localhost' || hostname.startsWith('127.');
  const from = process.platform === 'linux' && isIpv4 ? ANOTHER_LOOPBACK : undefined;
  const body = 'grant_type=client_credentials';
  const answer = await askEndpoint(target, 'token', { body, headers, from });
  return { id: answer.header('x-request-id'), from: answer.from };
}

/** The addresses in the records of these requests; none unless there is a record of each. */
async function readAddresses(audit: AuditConfig, ids: readonly string[]): Promise<readonly string[]> {
  for (let attempt = 0; audit.to === 'file' && attempt < ATTEMPTS; attempt += 1) {
    const lines = (await readTail(audit.file)).split('\n');
    const records = ids.map((id) =>
      lines.find((line) => line.includes(`"request_id":"${id}"`) && line.endsWith('}')),
    );
    if (records.every((record) => record !== undefined))
      return records.map((record) => (JSON.parse(record) as { readonly address: string }).address);
    await wait(PAUSE_MS);
  }
  return [];
}

async function readTail(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    return await text(createReadStream(file, { start: Math.max(0, size - TAIL_BYTES) }));
  } catch {
    return '';
  }
}

// Which client address the limits count behind the proxy. No answer shows it, and no limit is used up to find out: the audit trail
// has the address of each refused token request, where it is a file that can be read here.
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import type { Config } from '../config/config.ts';
import { isLoopbackHost } from '../config/uri.ts';
import { createClientAddress } from '../http/client-address.ts';
import { askEndpoint, Skipped, type ReportFault, type Target } from './check.ts';

/** RFC 5737: an address that no host has. */
const FORGED = '192.0.2.66';
const LOOPBACK = '127.0.0.1';
/** RFC 1918, RFC 4193 and link-local: not the address of a caller from the Internet. */
const PRIVATE = /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.|f[cd]|fe[89ab])/;
/** A second address on this machine, so that requests of the doctor differ from those of a proxy beside it. */
const ANOTHER_LOOPBACK = '127.0.0.99';
/** Records are written in the background, and others are written meanwhile. */
const ATTEMPTS = 20;
const PAUSE_MS = 100;
const TAIL_BYTES = 256 * 1024;

export async function checkClientAddress(target: Target, report: ReportFault): Promise<string> {
  const { config, issuer } = target;
  if (config === undefined) throw new Skipped('whose address Postern sees needs the configuration');
  if (issuer.startsWith('https:')) judgeTrust(config, report);
  const plain = await askForRecord(target);
  const again = await askForRecord(target);
  const forged = await askForRecord(target, { 'x-forwarded-for': FORGED });
  if (plain.id === '') throw new Skipped('the answers have no X-Request-Id, by which a record is found');
  const addresses = await readAddresses(config.audit, [plain.id, again.id, forged.id]);
  if (addresses === undefined) {
    const why =
      config.audit.to === 'file'
        ? `${config.audit.file} has no record of these requests`
        : "the audit trail can't be read here";
    throw new Skipped(`${why}: see whether its record of request ${plain.id} has the address ${plain.from}`);
  }
  return judgeAddresses(addresses, { from: plain.from, trusted: config.trustedProxies, report });
}

/** What follows from the file alone: TLS ends at a proxy, so there must be one in `trusted_proxies`. */
function judgeTrust({ trustedProxies, listen }: Config, report: ReportFault): void {
  const own = listen.host === 'localhost' ? LOOPBACK : listen.host;
  if (trustedProxies.length === 0)
    report('trusted-proxies-empty', 'no proxy is trusted: all callers share its address and limits');
  else if (isLoopbackHost(listen.host) && !isTrusted(trustedProxies, own))
    report('trusted-proxies-wrong', `the proxy comes from ${own}, which trusted_proxies does not have`);
}

function isTrusted(trustedProxies: readonly string[], address: string): boolean {
  return createClientAddress(trustedProxies)(address, FORGED) === FORGED;
}

/** A token request without a client, which is refused and recorded. */
async function askForRecord(target: Target, headers: Readonly<Record<string, string>> = {}) {
  const { hostname } = new URL(target.at);
  const isIpv4 = hostname === 'localhost' || hostname.startsWith('127.');
  const from = process.platform === 'linux' && isIpv4 ? ANOTHER_LOOPBACK : undefined;
  const body = 'grant_type=client_credentials';
  const answer = await askEndpoint(target, 'token', { body, headers, from });
  return { id: answer.header('x-request-id'), from: answer.from };
}

/** The addresses in the records of these requests; undefined unless there is one of each. */
async function readAddresses(
  audit: Config['audit'],
  ids: readonly string[],
): Promise<readonly string[] | undefined> {
  if (audit.to !== 'file') return undefined;
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const lines = (await readTail(audit.file)).split('\n');
    const records = ids.map((id) =>
      lines.find((line) => line.includes(`"request_id":"${id}"`) && line.endsWith('}')),
    );
    if (records.every((record) => record !== undefined))
      return records.map((record) => (JSON.parse(record) as { readonly address: string }).address);
    await wait(PAUSE_MS);
  }
  return undefined;
}

async function readTail(file: string): Promise<string> {
  try {
    const { size } = await stat(file);
    return await text(createReadStream(file, { start: Math.max(0, size - TAIL_BYTES) }));
  } catch {
    return '';
  }
}

type Known = {
  readonly from: string;
  readonly trusted: readonly string[];
  readonly report: ReportFault;
};

function judgeAddresses(
  [seen = '', seenAgain, seenForged]: readonly string[],
  { from, trusted, report }: Known,
): string {
  if (seenForged === FORGED) {
    if (isTrusted(trusted, from))
      throw new Skipped(`${from} is one of trusted_proxies: run the doctor from another machine`);
    report('forwarded-for-forged', 'Postern believes the X-Forwarded-For that anybody sends');
  }
  if (seen !== seenAgain)
    report('limit-without-effect', `two requests from here count for two addresses: ${seen}, ${seenAgain}`);
  else if (seen !== asCounted(from)) judgeOther(seen, { from, trusted, report });
  return `limits count by the address that the proxy sees, here ${seen}`;
}

/** It may be the proxy's, or rightly that of a gateway between this machine and the proxy. */
function judgeOther(seen: string, { from, trusted, report }: Known): void {
  const message = `Postern takes callers from ${from} for ${seen}, as it does all others there, and limits them together`;
  const isProxy =
    [LOOPBACK, asCounted('::1')].includes(seen) || isTrusted(trusted, seen.replace(/\/64$/, ''));
  if (isProxy) report('client-address-lost', message);
  else if (PRIVATE.test(seen)) report('client-address-lost', message, 'warning');
}

/** As the limits count it: IPv6 by /64. */
function asCounted(address: string): string {
  return createClientAddress([])(address, undefined);
}

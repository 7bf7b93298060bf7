// Whose address Postern sees behind the proxy, which all limits rest on. Nothing tells that, so it is found out by a limit:
// wrong secrets at the revocation endpoint, until Postern says 429 for this client from this address.
import { randomBytes } from 'node:crypto';
import type { Client } from '../config/config.ts';
import { createClientAddress } from '../http/client-address.ts';
import { isLoopbackHost } from '../config/uri.ts';
import type { Answer } from './ask.ts';
import { askDirectly, askEndpoint, isSecure, type Examination } from './examination.ts';
import { orOk, problem, skipped, warning, type Finding } from './finding.ts';

/** RFC 5737: an address that nobody has. */
const FORGED = '192.0.2.66';
const LOOPBACK = '127.0.0.1';
/** More would take too long, and be a burden. */
const MOST_ATTEMPTS = 100;
/** A second address on this machine, so that the doctor isn't taken for the proxy beside it. */
const ANOTHER_LOOPBACK = '127.0.0.99';

const DOCUMENT = 'See docs/reverse-proxy.md.';

export async function checkClientAddress(examination: Examination): Promise<readonly Finding[]> {
  const { config } = examination;
  const client = config?.clients.find(({ secrets }) => secrets.length > 0);
  if (config === undefined || client === undefined)
    return [
      skipped(
        'client-address',
        'whose address Postern sees needs the configuration, with a client that has a secret',
      ),
    ];
  const certain = judgeTrust(examination);
  const { limit } = config.rateLimits.revocation.failures;
  if (config.rateLimits.dryRun || limit > MOST_ATTEMPTS)
    return [
      ...certain,
      skipped('client-address', 'the limit on wrong secrets is off or very high, so it can not be asked'),
    ];
  return [...certain, ...(await askTheLimit(examination, client, limit))];
}

async function askTheLimit(
  examination: Examination,
  client: Client,
  limit: number,
): Promise<readonly Finding[]> {
  // Limited before we began: then a 429 afterwards would prove nothing.
  const before = await guessDirectly(examination, client);
  if (before?.status === 429)
    return [
      skipped(
        'client-address',
        `wrong secrets from this machine are limited already: ask again in ${before.header('retry-after')} s`,
      ),
    ];
  const last = await guessUntilLimited(examination, client, limit);
  if (last.status !== 429)
    return [
      problem(
        'limit-without-effect',
        `${limit + 1} wrong secrets from here were all answered (last: ${last.status})`,
        `Does the proxy send every request with another X-Forwarded-For, or is there another Postern behind this address? ${DOCUMENT}`,
      ),
    ];
  const findings = [...judgeRetry(last), ...(await judgeForged(examination, client, last.from))];
  findings.push(...(await judgeLost(examination, client, last.from)));
  return orOk(
    findings,
    'client-address',
    `limits count by the address that the proxy sees, here ${last.from}`,
  );
}

/** What follows from the file alone: TLS ends at a proxy, so there is one, and it must be known. */
function judgeTrust(examination: Examination): Finding[] {
  const { config } = examination;
  if (config === undefined || !isSecure(examination)) return [];
  const { trustedProxies, listen } = config;
  const advice = `List the addresses of the proxy, as Postern sees them, in trusted_proxies. ${DOCUMENT}`;
  if (trustedProxies.length === 0)
    return [
      problem(
        'trusted-proxies-empty',
        "no proxy is trusted, so all people share the proxy's address and its limits",
        advice,
      ),
    ];
  const own = listen.host === 'localhost' ? LOOPBACK : listen.host;
  const onLoopback = isLoopbackHost(listen.host);
  return onLoopback && !isTrusted(trustedProxies, own)
    ? [
        problem(
          'trusted-proxies-wrong',
          `Postern listens on ${listen.host}, where the proxy comes from ${own}, which trusted_proxies does not have`,
          advice,
        ),
      ]
    : [];
}

function isTrusted(trustedProxies: readonly string[], address: string): boolean {
  return createClientAddress(trustedProxies)(address, FORGED) === FORGED;
}

function guess(clientId: string, headers: Readonly<Record<string, string>> = {}) {
  const secret = randomBytes(24).toString('base64url');
  const authorization = `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${secret}`).toString('base64')}`;
  return { body: 'token=postern-doctor', headers: { authorization, ...headers } };
}

/** The address to come from: none in particular, but for a proxy on this machine's loopback. */
function sourceOf({ at }: Examination): string | undefined {
  const { hostname } = new URL(at);
  const isIpv4 = hostname === 'localhost' || hostname.startsWith('127.');
  return process.platform === 'linux' && isIpv4 ? ANOTHER_LOOPBACK : undefined;
}

async function guessUntilLimited(
  examination: Examination,
  { clientId }: Client,
  limit: number,
): Promise<Answer> {
  const from = sourceOf(examination);
  for (let count = 0; count < limit; count += 1) {
    const answer = await askEndpoint(examination, 'revocation', { ...guess(clientId), from });
    if (answer.status === 429) return answer;
  }
  return askEndpoint(examination, 'revocation', { ...guess(clientId), from });
}

/** RFC 9110 §10.2.3: whoever is told to wait must be told how long. */
function judgeRetry(answer: Answer): Finding[] {
  if (/^[1-9]\d*$/.test(answer.header('retry-after'))) return [];
  return [
    warning(
      'retry-after-stripped',
      '429 arrives without Retry-After, or comes from the proxy',
      "Let the proxy pass Retry-After on; if it limits too, keep its limits well above Postern's.",
    ),
  ];
}

async function judgeForged(examination: Examination, { clientId }: Client, from: string): Promise<Finding[]> {
  const headers = { 'x-forwarded-for': FORGED };
  const answer = await askEndpoint(examination, 'revocation', {
    ...guess(clientId, headers),
    from: sourceOf(examination),
  });
  if (answer.status === 429) return [];
  const trusted = examination.config?.trustedProxies ?? [];
  if (isTrusted(trusted, from))
    return [
      skipped(
        'forwarded-for',
        `this machine (${from}) is one of trusted_proxies and may say anything: run the doctor from another`,
      ),
    ];
  return [
    problem(
      'forwarded-for-forged',
      'Postern believes the X-Forwarded-For that anybody sends: guesses are not limited, and logs can be forged',
      `Let the proxy append the address that it sees (in nginx: $proxy_add_x_forwarded_for) or overwrite the header, and trust nobody but the proxy. ${DOCUMENT}`,
    ),
  ];
}

/** Past the proxy, from loopback: when that is limited now, Postern took us for somebody on its own machine. */
async function judgeLost(examination: Examination, client: Client, from: string): Promise<Finding[]> {
  if (from === LOOPBACK || from === '::1') return [];
  if ((await guessDirectly(examination, client))?.status !== 429) return [];
  return [
    problem(
      'client-address-lost',
      `Postern takes callers from ${from} for ${LOOPBACK}: all people share the proxy's address and its limits`,
      `Let the proxy send X-Forwarded-For, and list it in trusted_proxies. ${DOCUMENT}`,
    ),
  ];
}

async function guessDirectly(examination: Examination, { clientId }: Client): Promise<Answer | undefined> {
  const { direct } = examination;
  if (direct === undefined || new URL(direct).hostname !== LOOPBACK) return undefined;
  return askDirectly(examination, 'revocation', guess(clientId));
}

// The discovery document as the world sees it: is it there, is it this service's, and is it what the service said.
import { ENDPOINTS } from '../config/endpoints.ts';
import type { Answer } from './ask.ts';
import { askDirectly, askEndpoint, type Examination } from './examination.ts';
import { ok, orOk, problem, warning, type Finding } from './finding.ts';

/** Whether there is a Postern at the other end at all; everything else of the public address rests on this. */
export async function checkReach(examination: Examination): Promise<readonly Finding[]> {
  const { at } = examination;
  const answer = await askEndpoint(examination, 'discovery');
  if (answer.status === 200 && typeof answer.json?.['issuer'] === 'string')
    return [ok('reach', `${at} answers`)];
  const where = `${at}${ENDPOINTS.discovery}`;
  const isOwn404 = answer.status === 404 && answer.json?.['error'] === 'not_found';
  if (isOwn404) return [await explainPath(examination, where)];
  if (answer.status >= 300 && answer.status < 400)
    return [
      problem(
        'discovery-redirected',
        `${where} redirects to ${answer.header('location')}`,
        'Clients do not follow that. Give the address it leads to as issuer, or serve this one.',
      ),
    ];
  if (answer.status === 502 || answer.status === 503 || answer.status === 504)
    return [
      problem(
        'bad-gateway',
        `${where} answers ${answer.status}: the proxy does not reach Postern`,
        "Is Postern running, and is its listen address the one in the proxy's configuration?",
      ),
    ];
  return [
    problem(
      'not-postern',
      `${where} answers ${answer.status}, and not as Postern does`,
      'See where the proxy sends this host and path.',
    ),
  ];
}

/** Postern was reached, by another path than the one that was asked for: which one? */
async function explainPath({ at, ask }: Examination, where: string): Promise<Finding> {
  const { origin, pathname } = new URL(at);
  const prefix = pathname.replace(/\/$/, '');
  const isFound = async (url: string) => (await ask(url)).status === 200;
  if (prefix !== '' && (await isFound(`${origin}${prefix}${prefix}${ENDPOINTS.discovery}`)))
    return problem(
      'path-stripped',
      `the proxy removes ${prefix} from the path`,
      `Pass the path on as it came: Postern serves ${prefix} itself. In nginx: proxy_pass without a path.`,
    );
  if (prefix !== '' && (await isFound(`${origin}${ENDPOINTS.discovery}`)))
    return problem(
      'path-doubled',
      `the proxy adds ${prefix} to the path`,
      'Pass the path on as it came: Postern serves the issuer with its path itself.',
    );
  return problem(
    'path-altered',
    `${where} is not found: Postern was asked for another path`,
    'Pass the path on as it came, and compare it with the path of issuer.',
  );
}

export async function checkDiscovery(examination: Examination): Promise<readonly Finding[]> {
  const { issuer } = examination;
  const answer = await askEndpoint(examination, 'discovery');
  const said = String(answer.json?.['issuer']);
  const findings: Finding[] = [];
  if (said !== issuer) findings.push(explainMismatch(issuer, said));
  else findings.push(...foreignUrls(issuer, answer));
  const direct = await askDirectly(examination, 'discovery');
  if (direct !== undefined && direct.status === 200 && direct.body !== answer.body)
    findings.push(
      problem(
        'discovery-altered',
        'the discovery document is not the one that Postern sends',
        'Let the proxy change no body and keep no old one: no sub_filter, no cache of its own rules.',
      ),
    );
  findings.push(...(await wellKnownBelow(examination)));
  return orOk(findings, 'discovery', `the issuer is ${issuer}, and every URL begins with it`);
}

function explainMismatch(issuer: string, said: string): Finding {
  const advice = `Make issuer in the configuration the address that people use; nothing that a proxy sends can change it.`;
  if (!URL.canParse(said))
    return problem('issuer-mismatch', `the issuer in discovery is no URL: ${said}`, advice);
  const [wanted, found] = [new URL(issuer), new URL(said)];
  const parts = [
    ...(wanted.protocol === found.protocol ? [] : ['another scheme']),
    ...(wanted.host === found.host ? [] : ['another host']),
    ...(wanted.pathname === found.pathname ? [] : ['another path']),
  ];
  return problem(
    'issuer-mismatch',
    `the issuer in discovery is ${said}, not ${issuer}: ${parts.join(', ')}`,
    advice,
  );
}

function foreignUrls(issuer: string, { json }: Answer): Finding[] {
  const foreign = Object.entries(json ?? {}).filter(
    ([name, value]) =>
      /_(endpoint|uri)$/.test(name) && typeof value === 'string' && !value.startsWith(`${issuer}/`),
  );
  if (foreign.length === 0) return [];
  const names = foreign.map(([name]) => name).join(', ');
  return [
    problem(
      'urls-rewritten',
      `discovery has URLs that are not below ${issuer}: ${names}`,
      'Let the proxy rewrite no body.',
    ),
  ];
}

/** RFC 8414 §3.1: with a path, clients look in front of it too. */
async function wellKnownBelow({ at, issuer, ask }: Examination): Promise<Finding[]> {
  const { origin, pathname } = new URL(at);
  if (pathname === '/') return [];
  const answer = await ask(`${origin}${ENDPOINTS.metadata}${pathname}`);
  if (answer.status === 200 && answer.json?.['issuer'] === issuer) return [];
  return [
    warning(
      'well-known-missing',
      `${origin}${ENDPOINTS.metadata}${pathname} does not lead to Postern`,
      'Send it to Postern as well: OAuth clients look there when an issuer has a path.',
    ),
  ];
}

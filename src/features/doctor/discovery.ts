// The discovery document as clients see it: whether it exists, is this service's, and is unchanged by the proxy.
import { ENDPOINTS } from '../../config/endpoints.ts';
import type { ReportFault, Target } from './check.ts';

/** Whether Postern answers at all; every other check of the public address needs this. */
export async function checkReach({ at, ask }: Target, report: ReportFault): Promise<string | undefined> {
  const where = `${at}${ENDPOINTS.discovery}`;
  const { status, json, header } = await ask(where);
  if (status === 200 && typeof json?.['issuer'] === 'string') return `${at} responds`;
  if (status === 404 && json?.['error'] === 'not_found')
    return report('path-altered', `${where} returns 404: the proxy changes the path`);
  if (status >= 300 && status < 400)
    return report('discovery-redirected', `${where} redirects to ${header('location')}`);
  if (status === 502 || status === 503 || status === 504)
    return report('bad-gateway', `${where} returns ${status}: the proxy can't reach Postern`);
  return report('not-postern', `${where} returns ${status}, but not from Postern`);
}

export async function checkDiscovery({ issuer, at, ask }: Target, report: ReportFault): Promise<string> {
  const { json } = await ask(`${at}${ENDPOINTS.discovery}`);
  const found = String(json?.['issuer']);
  const foreign = Object.entries(json ?? {})
    .filter(([name, value]) => /_(endpoint|uri)$/.test(name) && !String(value).startsWith(`${issuer}/`))
    .map(([name]) => name);
  if (found !== issuer) report('issuer-mismatch', `the issuer in discovery is ${found}, not ${issuer}`);
  else if (foreign.length > 0)
    report('urls-rewritten', `discovery has URLs that do not start with ${issuer}: ${foreign.join(', ')}`);
  // RFC 8414 §3.1: if the issuer has a path, clients also request the metadata before it.
  const { origin, pathname } = new URL(at);
  const wellKnown = `${origin}${ENDPOINTS.metadata}${pathname}`;
  if (pathname !== '/' && (await ask(wellKnown)).json?.['issuer'] !== issuer)
    report('well-known-missing', `${wellKnown} is not forwarded to Postern`);
  return `the issuer is ${issuer}, and all URLs start with it`;
}

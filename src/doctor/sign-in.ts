// The way of a browser from an app to the sign-in page, as far as it goes without a password: redirects, cookies there and
// back, the page and what it loads. Leaves one unfinished sign-in behind, which ends by itself.
import { createHash, randomBytes } from 'node:crypto';
import type { Client } from '../config/config.ts';
import { ENDPOINTS } from '../config/endpoints.ts';
import type { Answer } from './ask.ts';
import { cookieHeader, judgeCookies, parseCookie, type Cookie } from './cookies.ts';
import { isOwnAnswer, type Examination } from './examination.ts';
import { orOk, problem, skipped, type Finding } from './finding.ts';

/** A client that people sign in to; its public data are enough to begin. */
export function findApp({ config }: Examination): Client | undefined {
  return config?.clients.find(
    ({ grantTypes, redirectUris }) => grantTypes.includes('authorization_code') && redirectUris.length > 0,
  );
}

/** The URL that the app would send a browser to. */
export function signInUrl(
  { at }: Examination,
  app: Client,
  more: Readonly<Record<string, string>> = {},
): string {
  const challenge = createHash('sha256').update(randomBytes(32)).digest('base64url');
  const scope = app.scopes.includes('openid') ? 'openid' : (app.scopes[0] ?? '');
  const query = new URLSearchParams({
    response_type: 'code',
    client_id: app.clientId,
    redirect_uri: app.redirectUris[0] ?? '',
    scope,
    state: 'postern-doctor',
    nonce: 'postern-doctor',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  });
  return `${at}${ENDPOINTS.authorization}?${query.toString()}`;
}

export async function checkSignIn(examination: Examination): Promise<readonly Finding[]> {
  const app = findApp(examination);
  if (app === undefined)
    return [
      skipped(
        'sign-in',
        'cookies and redirects need the configuration, with a client that people sign in to',
      ),
    ];
  const headers = { accept: 'text/html' };
  const answer = await examination.ask(signInUrl(examination, app), { headers });
  const location = answer.header('location');
  if (answer.status !== 302 && answer.status !== 303)
    return [
      problem(
        'sign-in-refused',
        `a sign-in of ${app.clientId} is answered ${answer.status} instead of a redirect`,
        isOwnAnswer(answer)
          ? "Read Postern's log; is this the configuration that runs?"
          : 'This is not an answer of Postern: see what the proxy does with GET /oauth/authorize.',
      ),
    ];
  const cookies = answer.all('set-cookie').map(parseCookie);
  const findings = judgeCookies(examination, cookies);
  if (!location.startsWith(`${examination.issuer}/interaction/`) && !isLocal(location)) {
    findings.push(
      problem(
        'redirect-rewritten',
        `the redirect to the sign-in page leads to ${location.split('?', 1)[0]}, not below ${examination.issuer}`,
        'Let the proxy leave Location alone (in nginx: proxy_redirect off).',
      ),
    );
    return findings;
  }
  if (cookies.length > 0) findings.push(...(await judgePage(examination, cookies, location)));
  return orOk(
    findings,
    'sign-in',
    `a browser gets to the sign-in page of ${app.clientId} and keeps its cookies`,
  );
}

function isLocal(location: string): boolean {
  return location.startsWith('/') && !location.startsWith('//');
}

async function judgePage(
  examination: Examination,
  cookies: readonly Cookie[],
  location: string,
): Promise<Finding[]> {
  const { at, issuer, ask } = examination;
  const path = new URL(location, issuer);
  const target = `${new URL(at).origin}${path.pathname}${path.search}`;
  const cookie = cookieHeader(cookies, path.pathname);
  const page = await ask(target, { headers: { accept: 'text/html', cookie } });
  if (page.status === 400 && isOwnAnswer(page))
    return [
      problem(
        'cookies-lost',
        'the sign-in page does not get the cookies that were set for it',
        'Let the proxy pass the Cookie header on, and leave the paths in Set-Cookie alone.',
      ),
    ];
  if (page.status !== 200 || !isOwnAnswer(page))
    return [
      problem(
        'page-refused',
        `the sign-in page is answered ${page.status}`,
        'See what the proxy does with paths below /interaction/.',
      ),
    ];
  return [...judgeForm(issuer, page), ...(await judgeAssets(examination, page))];
}

function judgeForm(issuer: string, { body }: Answer): Finding[] {
  const actions = [...body.matchAll(/<form[^>]*\saction="([^"]*)"/g)].map(([, action]) => action ?? '');
  if (actions.length > 0 && actions.every((action) => isLocal(action) || action.startsWith(`${issuer}/`)))
    return [];
  return [
    problem(
      'page-altered',
      `the form of the sign-in page does not lead below ${issuer}`,
      'Let the proxy change no page: no sub_filter and nothing that puts scripts in.',
    ),
  ];
}

/** Postern's own files only; a logo may come from anywhere. */
async function judgeAssets({ at, issuer, ask }: Examination, { body }: Answer): Promise<Finding[]> {
  const links = [...body.matchAll(/\s(?:href|src)="([^"]*\/assets\/[^"]*)"/g)].map(([, link]) => link ?? '');
  const own = links.map((link) => new URL(link, issuer)).filter(({ href }) => href.startsWith(`${issuer}/`));
  for (const { pathname, search } of own) {
    const { status } = await ask(`${new URL(at).origin}${pathname}${search}`);
    if (status !== 200)
      return [
        problem(
          'assets-blocked',
          `${pathname}, which the sign-in page needs, is answered ${status}`,
          'Send every path to Postern, /assets/ too.',
        ),
      ];
  }
  return [];
}

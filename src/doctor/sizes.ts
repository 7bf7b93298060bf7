// Whether the proxy takes requests and answers as large as Postern does: long sign-in URLs, tokens, forms, and redirects
// that carry a long state.
import { ENDPOINTS } from '../config/endpoints.ts';
import { askEndpoint, isOwnAnswer, isOwnError, type Examination } from './examination.ts';
import { Unanswered, type Answer } from './ask.ts';
import { orOk, problem, warning, type Finding } from './finding.ts';
import { findApp, signInUrl } from './sign-in.ts';

const KIB = 1024;
/** Apps with a signed state, a claims parameter or an id_token_hint come to this. */
const USUAL_URL = 7 * KIB;
/** A little below what Postern takes (http/sizes.ts). */
const LONGEST_URL = 11 * KIB;
const LONGEST_FORM = 50 * KIB;
const LONG_HEADER = 6 * KIB;
const LONG_STATE = 6 * KIB;

const BUFFERS = 'large_client_header_buffers 4 16k';

export async function checkSizes(examination: Examination): Promise<readonly Finding[]> {
  const findings = [
    ...(await longUrls(examination)),
    ...(await longHeader(examination)),
    ...(await longForm(examination)),
    ...(await longRedirect(examination)),
  ];
  return orOk(findings, 'sizes', 'the proxy takes what Postern takes');
}

/** Too large for a proxy may be an answer of its own, or a connection that it closes. */
async function answerOrNone(asking: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (error instanceof Unanswered) return undefined;
    throw error;
  }
}

const told = (answer: Answer | undefined) =>
  answer === undefined ? 'not answered' : `answered ${answer.status}`;

async function longUrls({ at, ask }: Examination): Promise<Finding[]> {
  for (const length of [USUAL_URL, LONGEST_URL]) {
    const url = `${at}${ENDPOINTS.authorization}?state=${'s'.repeat(length)}`;
    const answer = await answerOrNone(ask(url, { headers: { accept: 'text/html' } }));
    if (answer !== undefined && isOwnAnswer(answer)) continue;
    const say = length === USUAL_URL ? problem : warning;
    return [
      say(
        'long-url-refused',
        `a sign-in URL of ${length / KIB} KiB is ${told(answer)} in front of Postern`,
        `Raise the proxy's bound to 16 KiB; in nginx: ${BUFFERS};`,
      ),
    ];
  }
  return [];
}

async function longHeader(examination: Examination): Promise<Finding[]> {
  const headers = { authorization: `Bearer ${'t'.repeat(LONG_HEADER)}` };
  const answer = await answerOrNone(askEndpoint(examination, 'userinfo', { headers }));
  if (answer !== undefined && (isOwnError(answer) || answer.status === 401)) return [];
  return [
    problem(
      'long-header-refused',
      `a header of ${LONG_HEADER / KIB} KiB is ${told(answer)} in front of Postern`,
      `Raise the proxy's bound to 16 KiB; in nginx: ${BUFFERS};`,
    ),
  ];
}

async function longForm(examination: Examination): Promise<Finding[]> {
  const body = `grant_type=client_credentials&scope=${'s'.repeat(LONGEST_FORM)}`;
  const answer = await answerOrNone(askEndpoint(examination, 'token', { body }));
  if (answer !== undefined && answer.status < 500 && answer.status !== 413) return [];
  return [
    problem(
      'long-form-refused',
      `a form of ${LONGEST_FORM / KIB} KiB is ${told(answer)} in front of Postern`,
      "Raise the proxy's bound to 64 KiB; in nginx: client_max_body_size 64k;",
    ),
  ];
}

/** With prompt=none and no session the answer goes back to the app at once, with its state (OIDC Core §3.1.2.6). */
async function longRedirect(examination: Examination): Promise<Finding[]> {
  const app = findApp(examination);
  if (app === undefined || !app.scopes.includes('openid')) return [];
  const url = signInUrl(examination, app, { prompt: 'none', state: 's'.repeat(LONG_STATE) });
  const answer = await answerOrNone(examination.ask(url));
  // A URL that doesn't get through has been reported.
  if (answer !== undefined && answer.status < 500) return [];
  return [
    problem(
      'long-redirect-refused',
      `a redirect to an app with a state of ${LONG_STATE / KIB} KiB is ${told(answer)}`,
      'Give the proxy room for the head of an answer; in nginx: proxy_buffer_size 16k; proxy_buffers 8 16k;',
    ),
  ];
}

// A machine token for the API of postern.yaml, for programs that verify tokens, and a forged one that they must refuse.
import { settings } from './report.ts';

const { issuer, clientSecret } = settings;

/** RFC 6749 §2.3.1: both halves are form-encoded. */
export async function machineToken(clientId: string = settings.clientId): Promise<string> {
  const halves = [clientId, clientSecret].map((half) => encodeURIComponent(half));
  const response = await fetch(`${issuer}/oauth/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(halves.join(':'))}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'reports.read' }),
  });
  const answer = (await response.json()) as { access_token?: string };
  if (answer.access_token === undefined) throw new Error(JSON.stringify(answer));
  return answer.access_token;
}

/** The same token with one letter of the signature changed. */
export function forge(token: string): string {
  const [header = '', payload = '', signature = ''] = token.split('.');
  const first = signature.startsWith('A') ? 'B' : 'A';
  return [header, payload, first + signature.slice(1)].join('.');
}

/** Whether `verify` refuses; a verifier that accepts everything verifies nothing. */
export async function refuses(verify: () => unknown): Promise<boolean> {
  try {
    await verify();
    return false;
  } catch {
    return true;
  }
}

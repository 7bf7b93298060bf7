import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { useWorld } from '../world/each-store.ts';
import { get } from '../world/requests.ts';
import { raw } from '../world/raw.ts';

const DISCOVERY = '/.well-known/openid-configuration';
const METADATA = '/.well-known/oauth-authorization-server';
/** The claims of a user (OpenID Connect Core §5.1), and the claims that every ID token may have. */
const CLAIMS =
  'sub email email_verified name family_name given_name middle_name nickname preferred_username profile picture ' +
  'website gender birthdate zoneinfo locale updated_at sid auth_time iss';

describe('discovery', () => {
  const world = useWorld();
  const document = async () => (await get(world(), DISCOVERY)).body;

  it('Spec §4 GET /.well-known/openid-configuration: answers JSON without authentication', async () => {
    const answer = await get(world(), DISCOVERY);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('set-cookie')).toBeNull();
  });

  it('Spec §2 discovery document, CF-06: is what docs/contract.md lists, member by member, and nothing else', async () => {
    const text = await readFile('docs/contract.md', 'utf8');
    const rows = text.slice(text.indexOf('Member of the discovery document')).split('\n\n')[0] ?? '';
    const contract = [...rows.matchAll(/^\| `(\w+)` +\| (.+?) +\|$/gm)].map(([, member = '', cell = '']) => {
      const values = cell.split(', ').map((one) => one.slice(1, -1).replace('{base_url}', world().issuer));
      return [member, member.endsWith('_supported') ? values : values.join()] as const;
    });
    expect(contract).toHaveLength(11);
    expect(await document()).toEqual({
      ...Object.fromEntries(contract),
      introspection_endpoint: `${world().issuer}/oauth/introspect`,
      revocation_endpoint: `${world().issuer}/oauth/revoke`,
      end_session_endpoint: `${world().issuer}/oauth/logout`,
      subject_types_supported: ['public'],
      response_modes_supported: ['query'],
      claims_supported: CLAIMS.split(' '),
      // Without it the value would be true (OpenID Connect Discovery §3).
      request_uri_parameter_supported: false,
      authorization_response_iss_parameter_supported: true,
    });
  });

  it('does not advertise the scopes of resources', async () => {
    expect((await document())['scopes_supported']).toEqual(
      expect.arrayContaining(['openid', 'offline_access']),
    );
    expect((await get(world(), DISCOVERY)).text).not.toMatch(/reports\.read|other\.read/);
  });

  it('is the same document at the address of RFC 8414', async () => {
    expect((await get(world(), METADATA)).text).toBe((await get(world(), DISCOVERY)).text);
  });

  it('Spec §8 clients cache discovery: it says for how long, and 304 to who has it', async () => {
    const first = await get(world(), DISCOVERY);
    expect(first.headers.get('cache-control')).toBe('public, max-age=300, must-revalidate');
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^"[\w-]{43}"$/);
    const ask = (known: string) =>
      raw(world().base, { target: DISCOVERY, headers: { 'if-none-match': known } });
    expect(await ask(etag)).toMatchObject({ status: 304, text: '' });
    expect(await ask('"other"')).toMatchObject({ status: 200, text: first.text });
  });

  it('answers HEAD with the headers alone and refuses POST', async () => {
    const head = await raw(world().base, { method: 'HEAD', target: DISCOVERY });
    expect([head.status, head.text]).toEqual([200, '']);
    const posted = await raw(world().base, { method: 'POST', target: DISCOVERY });
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS']);
  });
});

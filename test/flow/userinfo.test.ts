import { decodeJwt } from 'jose';
import { fetchUserInfo } from 'openid-client';
import { describe, expect, it } from 'vitest';
import { createStoredUsers } from '../../src/users/stored-users.ts';
import { hashPassword } from '../../src/users/passwords.ts';
import { standingClock, moveClock } from '../world/clock.ts';
import { anyStore, useWorld } from '../world/each-store.ts';
import { signIn } from '../world/app.ts';
import { idOf, type User } from '../world/person.ts';
import { userinfo } from '../world/presented-tokens.ts';
import { PASSWORDS, PEOPLE } from '../world/world.ts';

const SUB = { sub: PEOPLE.alice };
const EMAIL = { email: 'alice@example.com', email_verified: true };
const PROFILE = { name: 'Alice Example', given_name: 'Alice', family_name: 'Example' };

anyStore('userinfo', (world) => {
  it.each([
    ['openid', SUB],
    ['openid email', { ...SUB, ...EMAIL }],
    ['openid profile', { ...SUB, ...PROFILE }],
    ['openid email profile', { ...SUB, ...EMAIL, ...PROFILE }],
    ['openid reports.read', SUB],
  ])('Spec §4 GET /oauth/userinfo, IS-27: gives for "%s" exactly its claims', async (scope, claims) => {
    const { tokens, configuration } = await signIn(world(), { scope });
    const answer = await userinfo(world(), tokens.access_token);
    expect(answer.status).toBe(200);
    expect(answer.body).toEqual(claims);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await fetchUserInfo(configuration, tokens.access_token, PEOPLE.alice)).toEqual(claims);
    // OIDC Core §5.4: with an access token, the claims are at userinfo and not in the ID token.
    const members = Object.keys(decodeJwt(tokens.id_token ?? '')).toSorted();
    expect(members).toEqual(['aud', 'exp', 'iat', 'iss', 'nonce', 'sub']);
  });

  it('F1-27: has the login name of a user of the store, or the name that was given', async () => {
    const people = createStoredUsers(world().openedStore);
    const passwordHash = await hashPassword(PASSWORDS.alice);
    const shown = async (person: User, claims: object) => {
      await people.add({ id: idOf(person), username: person, passwordHash, claims: { ...claims } });
      const { tokens } = await signIn(world(), { person, scope: 'openid profile' });
      return (await userinfo(world(), tokens.access_token)).body;
    };
    expect(await shown('person1', {})).toEqual({ sub: idOf('person1'), preferred_username: 'person1' });
    const own = { preferred_username: 'Nan', name: 'Nan Quill' };
    expect(await shown('person2', own)).toEqual({ sub: idOf('person2'), ...own });
  });

  it('leaves out what is not known of a person', async () => {
    const { tokens } = await signIn(world(), { person: 'bob', scope: 'openid email profile' });
    const { body } = await userinfo(world(), tokens.access_token);
    expect(body).toEqual({ sub: PEOPLE.bob, email: 'bob@example.com' });
  });
});

describe('userinfo and time', () => {
  const world = useWorld();
  standingClock();

  it('Spec §5 API calls: an access token is good until its exp and not after', async () => {
    const { tokens } = await signIn(world(), { scope: 'openid' });
    moveClock(599);
    expect((await userinfo(world(), tokens.access_token)).status).toBe(200);
    moveClock(2);
    expect((await userinfo(world(), tokens.access_token)).status).toBe(401);
  });
});

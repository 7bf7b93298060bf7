import { describe, expect, it } from 'vitest';
import { levelsOf } from '../../../src/config/sign-in-levels.ts';
import {
  client,
  clientProblems,
  load,
  loadClient,
  machine,
  problemsOf,
  PUBLIC,
} from '../../unit/config/config-files.ts';

const withSignIn = (keys: string) => `${PUBLIC}sign_in: { ${keys} }\n`;
const requires = (what: string) => client({ sign_in: `{ ${what} }` });

describe('sign_in', () => {
  it('is off without a word of it, and has careful defaults', async () => {
    expect((await load(PUBLIC)).signIn).toBeUndefined();
    expect((await load(withSignIn('passkeys: true'))).signIn).toEqual({
      passkeys: true,
      oneTimeCodes: false,
      recoveryCodes: 0,
      secondFactor: 'optional',
      grace: 14 * 86_400,
      enrolment: 'link',
    });
  });

  it.each([
    ['recovery_codes: 10', 'recovery_codes require a method: turn on passkeys or one_time_codes'],
    ['second_factor: required', 'second_factor: required and recovery_codes require a method'],
    ['passkeys: true, recovery_codes: 21', 'recovery_codes: must be at most 20'],
    ['passkeys: true, enrolment: nobody', 'enrolment: must be'],
    ['passkeys: true, grace: soon', 'grace: must be'],
    ['passkey: true', 'did you mean "passkeys"?'],
  ])('{ %s } is refused', async (keys, words) => {
    expect(await problemsOf(withSignIn(keys))).toEqual([expect.stringContaining(words)]);
  });
});

describe('sign_in of a client', () => {
  it('says what is needed, and for how long', async () => {
    const yaml = requires('require: second_factor, max_age: 12h');
    const { signIn } = await loadClient(yaml, withSignIn('one_time_codes: true'));
    expect(signIn).toEqual({ require: 'second_factor', maxAge: 12 * 3600 });
  });

  it('is refused where no method of the file can do that', async () => {
    const [second, passkey] = [requires('require: second_factor'), requires('require: passkey')];
    const nobody = 'sign_in: no user could sign in to this app';
    expect(await clientProblems(second)).toEqual([expect.stringContaining(nobody)]);
    expect(await clientProblems(passkey, withSignIn('one_time_codes: true'))).toEqual([
      expect.stringContaining(nobody),
    ]);
    expect(await clientProblems(second, withSignIn('one_time_codes: true'))).toEqual([]);
    expect(await clientProblems(passkey, withSignIn('passkeys: true'))).toEqual([]);
  });

  it('is refused without require, and for what acts for no person', async () => {
    const head = withSignIn('passkeys: true');
    expect(await clientProblems(requires('max_age: 12h'), head)).toEqual([
      expect.stringContaining('sign_in.require: is required'),
    ]);
    const service = machine({ sign_in: '{ require: passkey }' });
    expect(await clientProblems(service, head)).toEqual([
      expect.stringContaining('sign_in: applies to users'),
    ]);
  });

  it('holds for an app that is pinned, by the URL of its document', async () => {
    const pinned = client({
      client_id: 'https://app.example/client.json',
      client_secret: undefined,
      token_endpoint_auth_method: 'none',
      sign_in: '{ require: passkey }',
    });
    expect(await loadClient(pinned, withSignIn('passkeys: true'))).toMatchObject({
      signIn: { require: 'passkey' },
    });
  });
});

describe('levels of sign-ins', () => {
  const levels = async (yaml: string) => levelsOf(await load(`${PUBLIC}${yaml}\n`));

  it('are as many as the methods that are on', async () => {
    expect(await levels('')).toBeUndefined();
    expect((await levels('sign_in: {}'))?.offered).toEqual(['password']);
    expect((await levels('sign_in: { one_time_codes: true }'))?.offered).toEqual([
      'password',
      'second_factor',
    ]);
    expect((await levels('sign_in: { passkeys: true }'))?.offered).toHaveLength(3);
  });

  it('have names, and only offered ones are found by theirs', async () => {
    const named = await levels('sign_in: { one_time_codes: true }');
    expect(named?.nameOf('password')).toBe('urn:postern:acr:password');
    expect(named?.levelNamed('urn:postern:acr:password')).toBe('password');
    expect(named?.levelNamed('urn:postern:acr:second-factor')).toBe('second_factor');
    expect(named?.levelNamed('urn:postern:acr:passkey')).toBeUndefined();
  });
});

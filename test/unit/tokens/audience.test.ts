import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createAudienceRules } from '../../../src/tokens/audience.ts';

const ISSUER = 'https://id.example';
const REPORTS = 'https://api.example/reports';
const NO_RULES = { defaultScopes: [], scopeGroups: {}, accessTokenClaims: [] };
const rules = createAudienceRules(
  ISSUER,
  [
    {
      resource: REPORTS,
      scopes: ['reports.read', 'reports.write'],
      clients: [],
      introspectionClients: ['api'],
      introspectionUsername: false,
      scopeDescriptions: {},
      ...NO_RULES,
    },
    {
      resource: 'urn:mail',
      scopes: ['mail.send'],
      accessToken: 60,
      clients: [],
      introspectionClients: [],
      introspectionUsername: false,
      scopeDescriptions: {},
      ...NO_RULES,
    },
    {
      resource: 'https://root.example/',
      scopes: ['root.read'],
      clients: [],
      introspectionClients: [],
      introspectionUsername: false,
      scopeDescriptions: {},
      ...NO_RULES,
    },
    {
      resource: 'urn:slow',
      scopes: ['slow'],
      accessToken: 7200,
      clients: [],
      introspectionClients: [],
      introspectionUsername: false,
      scopeDescriptions: {},
      ...NO_RULES,
    },
  ],
  600,
);

describe('the audience of a token', () => {
  it.each([
    [[], ISSUER],
    [['email', 'profile'], ISSUER],
    [['openid'], ISSUER],
    [['unknown'], ISSUER],
    [['reports.read'], REPORTS],
    [['reports.read', 'reports.write'], REPORTS],
    [
      ['openid', 'reports.read'],
      [REPORTS, ISSUER],
    ],
    [['reports.read', 'email'], REPORTS],
    [
      ['mail.send', 'reports.read'],
      ['urn:mail', REPORTS],
    ],
    [
      ['reports.write', 'mail.send', 'openid', 'reports.read'],
      [REPORTS, 'urn:mail', ISSUER],
    ],
  ])('for the scopes %j is %j', (scopes, audience) => {
    expect(rules.audienceOf(scopes)).toEqual(audience);
  });

  it('is never empty, names nothing twice, and has the issuer in it with openid', () => {
    const scope = constantFrom('openid', 'email', 'reports.read', 'reports.write', 'mail.send', 'slow', 'x');
    assert(
      property(array(scope), (scopes) => {
        const audience = [rules.audienceOf(scopes)].flat();
        expect(audience.length).toBeGreaterThan(0);
        expect(new Set(audience).size).toBe(audience.length);
        if (scopes.includes('openid')) expect(audience).toContain(ISSUER);
      }),
    );
  });
});

describe('the life of a token', () => {
  it.each([
    [ISSUER, 600],
    [REPORTS, 600],
    ['urn:mail', 60],
    ['urn:slow', 7200],
    [[REPORTS, 'urn:mail'], 60],
    [['urn:slow', ISSUER], 600],
    ['urn:unknown', 600],
  ])('for %j is %d s: the shortest of its audiences', (audience, seconds) => {
    expect(rules.lifetimeOf(audience)).toBe(seconds);
  });
});

describe('a resource', () => {
  it.each([REPORTS, 'HTTPS://API.Example/reports'])('MC-40: is found as %s', (identifier) => {
    expect(rules.findResource(identifier)?.introspectionClients).toEqual(['api']);
  });

  it.each(['https://root.example', 'https://root.example/', 'HTTPS://Root.Example/'])(
    'MC-40: without a path is found as %s',
    (identifier) => expect(rules.findResource(identifier)?.resource).toBe('https://root.example/'),
  );

  it.each(['https://root.example//', 'https://root.example:443', 'https://root.example/?', 'urn:mail/'])(
    'MC-40: without a path is not found as %s',
    (identifier) => expect(rules.findResource(identifier)).toBeUndefined(),
  );

  it.each([`${REPORTS}/`, 'https://api.example/Reports', `${REPORTS}?x`, 'urn:MAIL', 'api.example/reports'])(
    'MC-40: is not found as %s',
    (identifier) => expect(rules.findResource(identifier)).toBeUndefined(),
  );
});

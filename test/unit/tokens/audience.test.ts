import { describe, expect, it } from 'vitest';
import { createAudienceRules } from '../../../src/tokens/audience.ts';

const ISSUER = 'https://id.example';
const REPORTS = 'https://api.example/reports';
/** test/attack/resources.test.ts checks the audience of a token with every scope and resource. */
const api = (resource: string, accessToken?: number) => ({
  resource,
  scopes: [],
  ...(accessToken !== undefined && { accessToken }),
  clients: [],
  introspectionClients: [],
  introspectionUsername: false,
  scopeDescriptions: {},
  defaultScopes: [],
  scopeGroups: {},
  accessTokenClaims: [],
});
const rules = createAudienceRules(
  ISSUER,
  [api(REPORTS), api('urn:mail', 60), api('https://root.example/'), api('urn:slow', 7200)],
  600,
);

it.each([
  [ISSUER, 600],
  [REPORTS, 600],
  ['urn:mail', 60],
  ['urn:slow', 7200],
  [[REPORTS, 'urn:mail'], 60],
  [['urn:slow', ISSUER], 600],
  ['urn:unknown', 600],
])('the life of a token for %j is %d s: the shortest of its audiences', (audience, seconds) => {
  expect(rules.lifetimeOf(audience)).toBe(seconds);
});

describe('a resource', () => {
  const found = {
    [REPORTS]: [REPORTS, 'HTTPS://API.Example/reports'],
    'https://root.example/': ['https://root.example', 'https://root.example/', 'HTTPS://Root.Example/'],
    none: [
      'https://root.example//',
      'https://root.example:443',
      'https://root.example/?',
      'urn:mail/',
    ].concat([
      `${REPORTS}/`,
      'https://api.example/Reports',
      `${REPORTS}?x`,
      'urn:MAIL',
      'api.example/reports',
    ]),
  };
  it.each(Object.entries(found))('MC-40: %s is found as %j', (resource, identifiers) => {
    for (const identifier of identifiers)
      expect([identifier, rules.findResource(identifier)?.resource ?? 'none']).toEqual([
        identifier,
        resource,
      ]);
  });
});

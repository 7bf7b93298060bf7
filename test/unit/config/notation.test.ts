import { describe, expect, it } from 'vitest';
import { duration, formatDuration, instant, rate } from '../../../src/config/notation.ts';
import { weakness } from '../../../src/config/secret-strength.ts';
import { didYouMean } from '../../../src/config/parse-fields.ts';
import { issuerFault, normalizeIssuer, originFault, redirectUriFault } from '../../../src/config/uri.ts';
import { DEMO_CLIENT_SECRET } from '../../../src/config/demo.ts';

describe('a duration', () => {
  it.each([
    ['0s', 0],
    ['60s', 60],
    ['30d', 2_592_000],
  ])('%s is %i seconds', (text, seconds) => {
    expect(duration({ min: 0 }).parse(text)).toBe(seconds);
  });

  it.each(['', '10', 'm', '1.5h', '-1m', '10 m', '10M', '1w', '1h30m', '999999999s'])('is not %j', (text) => {
    expect(duration({ min: 0 }).safeParse(text).success).toBe(false);
  });

  it('is written back in its largest whole unit', () => {
    expect([600, 90, 86_400, 0].map(formatDuration)).toEqual(['10m', '90s', '1d', '0s']);
  });
});

describe('a rate', () => {
  it('is a number in a time', () => {
    expect(rate().parse('6000/1m')).toEqual({ limit: 6000, windowSeconds: 60 });
    expect(rate().parse('10/10m')).toEqual({ limit: 10, windowSeconds: 600 });
  });

  it.each(['6000', '0/1m', '5/0s', '5/2d', '5 / 1m', '-1/1m', '1/m'])('is not %j', (text) => {
    expect(rate().safeParse(text).success).toBe(false);
  });
});

describe('a point in time', () => {
  it('is a day, from midnight UTC on, or a full time', () => {
    expect(instant().parse('2027-01-01')).toBe(Date.UTC(2027, 0, 1) / 1000);
    expect(instant().parse('2027-01-01T12:30Z')).toBe(Date.UTC(2027, 0, 1, 12, 30) / 1000);
    expect(instant().parse('2027-01-01T12:30:00+02:00')).toBe(Date.UTC(2027, 0, 1, 10, 30) / 1000);
  });

  const NO_DATES = [
    '2027-02-30',
    '2027-13-01',
    '2027-01-01T25:00:00Z',
    '2027-01-01T12:00:00',
    '1.1.2027',
    'soon',
  ];
  it.each(NO_DATES)('is not %j', (text) => {
    expect(instant().safeParse(text).success).toBe(false);
  });
});

describe('a suggestion', () => {
  const KEYS = ['redirect_uris', 'grant_types', 'scope', 'client_id'];

  it('has what begins with the same letters', () => {
    expect(didYouMean('Groups', [...KEYS, 'groups'])).toBe(': did you mean "grant_types", "groups"?');
    expect(didYouMean('g', KEYS)).toBe('');
    expect(didYouMean('banana', KEYS)).toBe('');
    expect(didYouMean('', KEYS)).toBe('');
  });
});

describe('TK-09: the strength of a secret', () => {
  it.each([
    '',
    'changeme',
    'changemechangemechangemechangeme',
    'a'.repeat(64),
    'passwordpasswordpasswordpassword1',
    'abcdefghijklmnopqrstuvwxyz0123456789',
    '0123456789012345678901234567890123456789',
    'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg',
    'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fgé-aUeRoQ',
  ])('%j is refused', (secret) => {
    expect(weakness(secret)).toBeDefined();
  });

  it.each([
    'q7Zr2Wk9Lx4Tn8Vb3Mh6Yc1Pd5Js0Fg-',
    '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    DEMO_CLIENT_SECRET,
  ])('%j is accepted', (secret) => {
    expect(weakness(secret)).toBeUndefined();
  });
});

describe('the issuer', () => {
  it.each([
    'https://id.example',
    'https://id.example/',
    'http://localhost:3000',
    'http://127.0.0.1',
    'http://[::1]:3000',
  ])('may be %s', (issuer) => {
    expect(issuerFault(issuer)).toBeUndefined();
  });

  it.each([
    'http://id.example',
    'http://127.0.0.1.example',
    'ftp://id.example',
    'id.example',
    'https:/id.example',
    'https://id.example?x=1',
    'https://id.example/#a',
    'https://user:pass@id.example',
    'https://id.example//x',
    'https://id.example/%2e%2e',
    'https://id.example/a b',
    'https://id.example\\x',
    '',
    'https://id.example:0',
  ])('must not be %j', (issuer) => {
    expect(issuerFault(issuer)).toBeDefined();
  });

  it('loses its trailing slash, default port and capital letters', () => {
    expect(normalizeIssuer('https://ID.example:443/')).toBe('https://id.example');
    expect(normalizeIssuer('https://id.example/auth/')).toBe('https://id.example/auth');
  });
});

describe('a redirect URI by itself', () => {
  it.each(
    `https://app.example/cb https://app.example/cb?tenant=1 http://127.0.0.1:8123/cb http://[::1]/cb
    http://localhost/cb com.example.app:/cb com.example.app://cb`.split(/\s+/),
  )('may be %s', (uri) => {
    expect(redirectUriFault(uri)).toBeUndefined();
  });

  const WILDCARDS = [
    'https://*.example/cb',
    'https://app.example/cb?*',
    'https://app.example/*',
    'com.example.*:/cb',
  ];
  it.each(WILDCARDS)('AZ-11: has no wildcard, as %s', (uri) => {
    expect(redirectUriFault(uri)).toContain('wildcard');
  });

  const PATTERNS = [
    '^https://app\\.example/.*$',
    'https://app.example/(a|b)',
    'https://app.example/[a-z]{1,3}',
  ];
  it.each(PATTERNS)('AZ-11: is no pattern, as %s', (uri) => {
    expect(redirectUriFault(uri)).toBeDefined();
  });

  it.each(
    `javascript:alert(1) JavaScript:alert(1) data:text/html,x file:///etc/passwd http://app.example
    http://127.0.0.2/cb`.split(/\s+/),
  )('AZ-12: is not %s', (uri) => {
    expect(redirectUriFault(uri)).toBeDefined();
  });

  it.each([
    '/cb',
    'app.example/cb',
    'https://app.example/cb#x',
    'https://u:p@app.example/cb',
    'https:/app.example',
    'https://app.example\\@evil.example',
    'myapp:/cb',
    'https://',
    '',
  ])('is not %j', (uri) => {
    expect(redirectUriFault(uri)).toBeDefined();
  });
});

describe('an origin', () => {
  const ORIGINS = ['https://app.example', 'http://localhost:5173', 'https://app.example:8443'];
  it.each(ORIGINS)('may be %s', (origin) => {
    expect(originFault(origin)).toBeUndefined();
  });

  const NO_ORIGINS = ['*', 'null', 'https://app.example/', 'https://app.example/x', 'app.example', ''];
  it.each(NO_ORIGINS)('must not be %j', (origin) => {
    expect(originFault(origin)).toBeDefined();
  });
});

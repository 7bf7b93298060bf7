// Checks the shape of stored data. A member has the same check wherever its name occurs; unknown members come from a newer version.
import { isRecord } from '../config/parse-fields.ts';

type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === 'string';
/** Includes epoch seconds until 2106, so that a lifetime computed from one can be stored. */
const isNumber: Check = (value) => typeof value === 'number' && value < 2 ** 32;
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every((one) => check(one));
const isTexts = listOf(isText);
const mapOf =
  (check: Check): Check =>
  (value) =>
    isRecord(value) && listOf(check)(Object.values(value));

const recordsWith = (needs: string) => listOf((value) => isWhole(value, needs.split(' ')));

const CHECKS = new Map<string, Check>();
const know = (check: Check, names: string) => names.split(' ').forEach((name) => CHECKS.set(name, check));

know(isText, 'accountId clientId grantId sid uid sessionUid generation gty scope nonce codeChallenge');
know(isText, 'redirectUri returnTo deviceCode error browser network name body username account');
know(isText, 'address since device id publicKey sealed key what app');
know(isTexts, 'amr reasons scopes missingOIDCScope missingApis recoveryCodes');
know(
  isNumber,
  'iat exp iiat loginTs ts authTime auth_time factorAt sessionsSince at ends rotations counter lastStep',
);
know(isWhole, 'openid place deviceInfo details session lastSubmission result login rejected');
know((value) => isWhole(value, ['sealed', 'lastStep']), 'oneTimeCode');
know(recordsWith('id publicKey counter'), 'passkeys');
know(recordsWith('uid ends'), 'sessions');
know(recordsWith('key clientId ends'), 'grants');
know(recordsWith('what at'), 'events');
know(Array.isArray, 'notices');
know((value) => isWhole(value, ['at']), 'issued');
know((value) => isWhole(value, ['account']), 'attempt');
know((value) => isText(value) || isTexts(value), 'aud resource');
// Request parameters have these names, too.
know((value) => isText(value) || isWhole(value, ['name', 'reasons', 'details']), 'prompt');
know((value) => isText(value) || isWhole(value), 'consent');
know(
  mapOf((value) => isText(value) || isTexts(value)),
  'params',
);
know(mapOf(isText), 'resources');
know(mapOf(isTexts), 'resourceScopes missingResourceScopes');
know(mapOf(isWhole), 'authorizations');
// Claims can have any name, so CHECKS doesn't apply.
know((value) => isRecord(value) && isTexts(value['amr'] ?? []), 'extra');

/** `needs`: names of required members. */
export function isWhole(value: unknown, needs: readonly string[] = []): boolean {
  if (!isRecord(value) || !needs.every((name) => name in value)) return false;
  return Object.keys(value).every((name) => CHECKS.get(name)?.(value[name]) !== false);
}

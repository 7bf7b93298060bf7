// The schema of a user in the file.
import * as z from 'zod';
import { group } from './camel-keys.ts';
import { phcFault } from './secret-strength.ts';
import { labelFault, matching, text, usernameFault } from './text.ts';
import { webUriFault } from './uri.ts';
import { quoted } from './yaml.ts';

function passwordHashFault(value: string): string | undefined {
  const fault = phcFault(value);
  return fault === undefined ? undefined : `${fault}: create one with "postern user hash"`;
}

const userIdFault = matching(
  /^usr_[A-Za-z0-9_-]{16,200}$/,
  'must be usr_ and at least 16 letters, digits, - or _: create one with "postern user hash"',
);

const emailFault = matching(/^[^\s@]+@[^\s@]+$/, 'must be an email address');

// OIDC Core §5.1: YYYY-MM-DD, YYYY alone, or 0000-MM-DD when the year is withheld.
const birthdateFault = matching(
  /^\d{4}(-\d{2}-\d{2})?$/,
  'must be YYYY-MM-DD, YYYY, or 0000-MM-DD without the year',
);

const simpleClaim = z.union([z.string(), z.number(), z.boolean()]);

const customClaimSchema = z.union(
  [simpleClaim, z.array(simpleClaim)],
  'must be text, a number, true, false, or a list of these',
);

const claim = (description: string) => text(labelFault).optional().describe(description);

/** The standard claims, by their OIDC Core §5.1 names. */
const claimsSchema = z.strictObject({
  email: text(emailFault).optional().describe('Email address (scope email).'),
  email_verified: z.boolean().optional().describe('Whether the address is verified (scope email).'),
  name: claim('Full name (scope profile, like all claims below).'),
  family_name: claim('Family name.'),
  given_name: claim('Given name.'),
  middle_name: claim('Middle name.'),
  nickname: claim('Nickname.'),
  preferred_username: claim('Username for display.'),
  profile: text(webUriFault).optional().describe("URL of the user's profile page."),
  picture: text(webUriFault).optional().describe("URL of the user's picture."),
  website: text(webUriFault).optional().describe("URL of the user's website."),
  gender: claim('Gender.'),
  birthdate: text(birthdateFault).optional().describe('Birthday: YYYY-MM-DD, or a year in quotes.'),
  zoneinfo: claim('Time zone, such as Europe/Paris.'),
  locale: claim('Language, such as en-GB.'),
  updated_at: z
    .int()
    .min(0, 'must not be negative')
    .optional()
    .describe('Time of the last profile change, in epoch seconds.'),
});

/** One user. */
export const userSchema = z.strictObject({
  id: text(userIdFault)
    .describe('The sub of this user. Never change it or give it to another user.')
    .meta({ examples: ['usr_Qm8vT2kLx5Rz9cNw'] }),
  username: text(usernameFault).describe('Name for signing in. Not case-sensitive.'),
  password_hash: text(passwordHashFault)
    .optional()
    .describe(
      'argon2id hash of the password, from "postern user hash". Required unless sign_in.passkeys is on: users without a password sign in with a passkey ("postern user enrol").',
    ),
  disabled: z.boolean().default(false).describe('true revokes all sessions and tokens of the user.'),
  groups: z.array(z.string()).default([]).describe('Groups of the user, defined in groups.'),
  claims: z
    .record(z.string(), customClaimSchema)
    .default({})
    .describe(
      'Custom claims, for apps with a scope that includes them (scopes): text, numbers, true or false, and lists of these.',
    ),
  ...claimsSchema.shape,
});

export type UserForm = z.output<typeof userSchema>;

/** The requirements for new passwords. users/password-rules.ts has the other rules. */
export const passwordsSchema = group({
  min_length: z
    .int('must be a whole number')
    .min(8, 'must be at least 8')
    .max(64, 'must be at most 64')
    .default(15)
    .describe(
      'Minimum length of new passwords, in characters. NIST SP 800-63B-4 requires 15 where a password is the only factor, and never allows less than 8.',
    ),
});

/** The claims of OpenID Connect Core §5.1 that a user can have. */
export const STANDARD_CLAIMS: readonly string[] = Object.keys(claimsSchema.shape);

const MAX_CLAIMS_BYTES = 64 * 1024;

/** Limits the size, because each sign-in reads the claims and each userinfo response contains them. */
export function claimsFault(claims: object): string | undefined {
  const isTooLong = Buffer.byteLength(JSON.stringify(claims)) > MAX_CLAIMS_BYTES;
  return isTooLong ? 'the claims of a user must be at most 64 KB of JSON' : undefined;
}

/** Parses the claims of one user, including `custom` ones. With faults, there are no claims. */
export function parseClaims(claims: Readonly<Record<string, unknown>>, custom: readonly string[]) {
  const own = Object.fromEntries(custom.map((name) => [name, customClaimSchema.optional()]));
  const schema = claimsSchema.extend(own);
  // Compiling it would take longer than parsing.
  const { data = {}, error } = schema.safeParse(claims, { jitless: true });
  const faults = (error?.issues ?? []).map((issue) =>
    issue.code === 'unrecognized_keys'
      ? `unknown claim ${issue.keys.map(quoted).join(', ')}: use one of ${Object.keys(schema.shape).join(', ')}`
      : `${issue.path.join('.')}: ${issue.message}`,
  );
  return { claims: data, faults };
}

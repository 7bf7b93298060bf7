// The sign-in level that an authorization request requires (OIDC Core §3.1.2.1, RFC 9470), and whether a token from a weaker sign-in may
// still be used. Off without `sign_in`.
import { errors, interactionPolicy, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { SignInSettings } from '../../config/config.ts';
import { type Level, LEVELS, type Levels, reaches } from '../../config/sign-in-levels.ts';
import { type Amr, BY_PASSWORD, levelOf } from '../../users/authentication-methods.ts';
import { canReach, type Factors, hasSecondFactor } from '../../users/factors.ts';
import { noticesFor } from './notices.ts';
import type { App } from '../../oidc/app.ts';
import type { GivenToken } from '../../oidc/guard.ts';
import type { Parts } from '../parts.ts';
import { endGrantOf } from '../../oidc/policies/asked-for.ts';
import { scopesIn } from '../../oidc/policies/scopes.ts';

/** Why the user must prove more. age: their last proof is too old for the app. */
type Missing = Readonly<{ level: Level; because: 'level' | 'age' }>;

type SignInPolicyParts = App & Readonly<{ signIn: SignIn; levels: Levels }>;

type SignIn = NonNullable<SignInSettings>;

const { Check, Prompt } = interactionPolicy;

const highest = (...levels: readonly Level[]): Level =>
  LEVELS.findLast((level) => levels.includes(level)) ?? 'password';

/** The level that the service requires of all users at `at` (epoch seconds). */
function ofEverybody(signIn: SignIn, { graceFrom }: Factors, at: number): Level {
  const isRequired = signIn.secondFactor === 'required' && graceFrom !== undefined;
  return isRequired && at >= graceFrom + signIn.grace ? 'second_factor' : 'password';
}

/** Whether the user can prove the level: a recovery code replaces a second factor that is lost, refused or off. */
export function canProve(signIn: SignInSettings, own: Factors, level: Level, at: number): boolean {
  if (canReach(signIn, own, level, at)) return true;
  const hasCodes = (signIn?.recoveryCodes ?? 0) > 0 && own.recoveryCodes.length > 0;
  return level === 'second_factor' && hasSecondFactor(own) && hasCodes;
}

/** Epoch seconds of the last second factor, or else of the sign-in. */
const provedAt = ({ factorAt, loginTs = 0 }: Session) => factorAt ?? loginTs;

/** A user with a second factor must always use one, even while its method is off. */
const ofTheirs = (own: Factors): Level => (hasSecondFactor(own) ? 'second_factor' : 'password');

/** The level that a user needs for every app at `at` (epoch seconds). */
const levelOfUser = (signIn: SignIn, own: Factors, at: number): Level =>
  highest(ofTheirs(own), ofEverybody(signIn, own, at));

function createMissing({ signIn, levels, factors, clients, now }: SignInPolicyParts) {
  const seconds = () => Math.floor(now() / 1000);

  /** A user's grace period begins at their first sign-in. */
  async function factorsOf(accountId: string): Promise<Factors> {
    const found = await factors.get(accountId);
    const begins = signIn.secondFactor === 'required' && found.graceFrom === undefined;
    if (!begins || hasSecondFactor(found)) return found;
    const graceFrom = seconds();
    const changed = await factors.change(accountId, (before) =>
      before.graceFrom === undefined ? { graceFrom } : undefined,
    );
    return changed ?? found;
  }

  /** The level that the request prefers, among those that the user can reach. */
  function askedLevel({ oidc }: KoaContextWithOIDC, reached: Level, can: (level: Level) => boolean): Level {
    const names = scopesIn(oidc.params?.['acr_values']);
    const asked = names.map(levels.levelNamed).filter((level) => level !== undefined);
    const met = asked.filter((level) => reaches(reached, level));
    // If the proof is too old, the same level is asked for again.
    if (names.length === 0 || met.length > 0) return met.find(can) ?? 'password';
    // OIDC Core §3.1.2.1: in order of preference.
    return asked.find(can) ?? 'password';
  }

  /** Undefined: the session is sufficient for the authorization request. */
  return async function missing(ctx: KoaContextWithOIDC): Promise<Missing | undefined> {
    const { session, account, client } = ctx.oidc;
    if (session === undefined || account === undefined) return undefined;
    const own = await factorsOf(account.accountId);
    const settings = await clients.load(client?.clientId);
    const { require = 'password', maxAge = Infinity } = settings?.signIn ?? {};
    const reached = levelOf(session.amr);
    const asked = askedLevel(ctx, reached, (level) => canReach(signIn, own, level, seconds()));
    const level = highest(levelOfUser(signIn, own, seconds()), require, asked);
    if (!reaches(reached, level)) return { level, because: 'level' };
    return seconds() - provedAt(session) > maxAge ? { level, because: 'age' } : undefined;
  };
}

export function createSignInPolicy(parts: SignInPolicyParts): Pick<Parts, 'prompts' | 'guard'> {
  const { signIn, levels, factors, clients, now } = parts;
  const missing = createMissing(parts);
  const seconds = () => Math.floor(now() / 1000);

  /** Whether a token from a sign-in may still be used at its client. */
  async function mayUse({ clientId, accountId, amr, extra }: GivenToken): Promise<boolean> {
    if (accountId === undefined) return true;
    const { require = 'password' } = (await clients.load(clientId))?.signIn ?? {};
    const needed =
      signIn.secondFactor === 'required'
        ? highest(require, ofEverybody(signIn, await factors.get(accountId), seconds()))
        : require;
    return reaches(levelOf(amr ?? (extra?.['amr'] as Amr | undefined)), needed);
  }

  /** Whether the session ended when the user's factors changed. */
  async function isOver({ oidc: { session, account } }: KoaContextWithOIDC): Promise<boolean> {
    if (session === undefined || account === undefined) return false;
    // Set in the first check of a session: one without `amr` used a password, and the names of levels may have changed.
    session.amr ??= [...BY_PASSWORD];
    session.acr = levels.nameOf(levelOf(session.amr));
    return (session.sessionsSince ?? 0) !== (await factors.get(account.accountId)).sessionsSince;
  }

  async function hasNotices({ oidc }: KoaContextWithOIDC): Promise<boolean> {
    if (oidc.account === undefined || oidc.promptPending('none')) return false;
    const { notices } = await factors.get(oidc.account.accountId);
    return noticesFor(notices, oidc.session?.uid, seconds()).length > 0;
  }

  return {
    prompts(policy) {
      policy
        .get('login')
        ?.checks.add(new Check('sessions_ended', 'the session has ended', 'login_required', isOver));
      const asks = (because: Missing['because'], error: string) =>
        new Check(
          `second_factor_${because}`,
          'the user must be verified again',
          error,
          async (ctx: KoaContextWithOIDC) => (await missing(ctx))?.because === because,
          async (ctx: KoaContextWithOIDC) => ({ level: (await missing(ctx))?.level }),
        );
      const checks = [asks('level', 'interaction_required'), asks('age', 'login_required')];
      policy.add(new Prompt({ name: 'second_factor' }, ...checks), policy.length - 1);
      const notice = new Check('notice', 'there is something to say', 'interaction_required', hasNotices);
      policy.add(new Prompt({ name: 'notice' }, notice), policy.length - 1);
    },

    guard: {
      /** At the token endpoint, permanently ends the grant of a token that may no longer be used, and throws. */
      async admit(ctx, _user, token) {
        const isAdmitted = await mayUse(token);
        if (isAdmitted || ctx.oidc.route !== 'token') return isAdmitted;
        await endGrantOf(ctx);
        throw new errors.InvalidGrant('the sign-in was weaker than the client requires');
      },
      sees: async (_user, token) => mayUse(token),
      isPlain: () => true,
      isEnough: ({ amr, sessionsSince }, own) =>
        sessionsSince === own.sessionsSince && reaches(levelOf(amr), levelOfUser(signIn, own, seconds())),
    },
  };
}

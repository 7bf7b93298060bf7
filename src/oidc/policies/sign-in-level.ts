// How strongly a user has to be signed in: what an authorization request needs (OIDC Core §3.1.2.1, RFC 9470), and what a token that
// came of a weaker sign-in is still good for. None of it is there where the file has neither `sign_in` nor `acr`.
import { errors, type KoaContextWithOIDC, type Session } from 'oidc-provider';
import type { Client, SignInSettings } from '../../config/config.ts';
import { type Level, LEVELS, type Levels, reaches } from '../../config/sign-in-levels.ts';
import type { Clock } from '../../store/store.ts';
import { type Amr, BY_PASSWORD, levelOf } from '../../users/authentication-methods.ts';
import { canReach, type Factors, type FactorStore, hasSecondFactor } from '../../users/factors.ts';
import { noticesFor } from '../../users/notices.ts';
import type { Clients } from '../clients.ts';
import { endGrantOf } from './asked-for.ts';
import { scopesIn } from './scopes.ts';
import { factorAtOf, sessionsSinceOf } from '../seam/session-sign-in.ts';

/** Why the user is asked for more. age: what they proved is too long ago for the app. */
export type Missing = { readonly level: Level; readonly because: 'level' | 'age' };

export type SignInPolicy = ReturnType<typeof createSignInPolicy>;

/** A code or a refresh token has its amr itself, an access token among its claims. */
type TokenOfSignIn = Readonly<{
  clientId?: string | undefined;
  accountId?: string | undefined;
  amr?: Amr | undefined;
  extra?: Readonly<Record<string, unknown>> | undefined;
}>;

type SignInPolicyParts = Readonly<{
  config: { readonly signIn?: SignInSettings };
  levels: Levels;
  factors: FactorStore;
  clients: Clients;
  now: Clock;
}>;

const highest = (...levels: readonly Level[]): Level =>
  LEVELS.findLast((level) => levels.includes(level)) ?? 'password';

/** What everybody needs, wherever they sign in, at `at` (epoch seconds). */
function ofEverybody(signIn: SignInSettings, { graceFrom }: Factors, at: number): Level {
  const isRequired = signIn?.secondFactor === 'required' && graceFrom !== undefined;
  return isRequired && at >= graceFrom + signIn.grace ? 'second_factor' : 'password';
}

/** Epoch seconds of the last second factor. */
const provedAt = (session: Session): number => factorAtOf(session) ?? session.loginTs ?? 0;

/** Who has a second factor is never signed in without one, also while its method is off. */
const ofTheirs = (signIn: SignInSettings, own: Factors): Level =>
  signIn !== undefined && hasSecondFactor(own) ? 'second_factor' : 'password';

/** What a user needs, whatever they open, at `at` (epoch seconds). */
export const levelOfUser = (signIn: SignInSettings, own: Factors, at: number): Level =>
  highest(ofTheirs(signIn, own), ofEverybody(signIn, own, at));

function createMissing({ config: { signIn }, levels, factors, clients, now }: SignInPolicyParts) {
  const seconds = () => Math.floor(now() / 1000);

  /** The grace of a user begins at their first sign-in. */
  async function factorsOf(accountId: string): Promise<Factors> {
    const found = await factors.get(accountId);
    const begins = signIn?.secondFactor === 'required' && found.graceFrom === undefined;
    if (!begins || hasSecondFactor(found)) return found;
    const graceFrom = seconds();
    const changed = await factors.change(accountId, (before) =>
      before.graceFrom === undefined ? { graceFrom } : undefined,
    );
    return changed ?? found;
  }

  /** The level that the request wishes for, as far as the user can. */
  function askedLevel({ oidc }: KoaContextWithOIDC, reached: Level, can: (level: Level) => boolean): Level {
    const names = scopesIn(oidc.params?.['acr_values']);
    const asked = names.map(levels.levelNamed).filter((level) => level !== undefined);
    const met = asked.filter((level) => reaches(reached, level));
    // Where it is too old, the same is asked for again.
    if (names.length === 0 || met.length > 0) return met.find(can) ?? 'password';
    // OIDC Core §3.1.2.1: in the order of preference.
    return asked.find(can) ?? 'password';
  }

  /** Undefined: the session of an authorization request is enough. */
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

export function createSignInPolicy(parts: SignInPolicyParts) {
  const { config, levels, factors, clients, now } = parts;
  const { signIn } = config;

  /** Whether what came of a sign-in may still be used at its client. */
  async function mayUse({ clientId, accountId, amr, extra }: TokenOfSignIn): Promise<boolean> {
    if (accountId === undefined) return true;
    const { require = 'password' } = (await clients.load(clientId))?.signIn ?? {};
    const needed =
      signIn?.secondFactor === 'required'
        ? highest(require, ofEverybody(signIn, await factors.get(accountId), Math.floor(now() / 1000)))
        : require;
    return reaches(levelOf(amr ?? (extra?.['amr'] as Amr | undefined)), needed);
  }

  return {
    levels,
    missing: createMissing(parts),
    /** Whether the session ended when the user's factors changed. */
    isOver: async ({ oidc: { session, account } }: KoaContextWithOIDC): Promise<boolean> => {
      if (session === undefined || account === undefined) return false;
      // Here, as the first that looks at a session: one from before was by password, and names of levels may have changed.
      session.amr ??= [...BY_PASSWORD];
      session.acr = levels.nameOf(levelOf(session.amr));
      if (signIn === undefined) return false;
      return sessionsSinceOf(session) !== (await factors.get(account.accountId)).sessionsSince;
    },
    /** Whether there is something to tell the user. */
    hasNotices: async ({ oidc }: KoaContextWithOIDC): Promise<boolean> => {
      if (signIn === undefined || oidc.account === undefined || oidc.promptPending('none')) return false;
      const { notices } = await factors.get(oidc.account.accountId);
      return noticesFor(notices, oidc.session?.uid, Math.floor(now() / 1000)).length > 0;
    },
    /** Whether `mayUse` has something to look at; what it costs is for those alone. */
    isRequiredAt: (client: Pick<Client, 'signIn'>) =>
      client.signIn !== undefined || signIn?.secondFactor === 'required',
    mayUse,
    /** The same for the engine; at the token endpoint it ends the grant of one that may not, for good, and throws. */
    async admit(ctx: KoaContextWithOIDC, token: TokenOfSignIn): Promise<boolean> {
      const isAdmitted = await mayUse(token);
      if (isAdmitted || ctx.oidc.route !== 'token') return isAdmitted;
      await endGrantOf(ctx);
      throw new errors.InvalidGrant('the sign-in was weaker than the client requires');
    },
  };
}

// Which grant an authorization request starts from: the one just consented to, the session's, one made from what the
// user allowed before, or, for a first-party app with `consent: implicit`, one that holds what is asked for. And which one ends with that
// setting.
import type Provider from 'oidc-provider';
import type { Adapter, Grant, KoaContextWithOIDC } from 'oidc-provider';
import type { Client } from '../../config/config.ts';
import type { Narrowing } from '../guard.ts';
import { addToGrant, type AskedFor, askedFor } from './asked-for.ts';
import type { App } from '../app.ts';

/** Of whom and for which app, and of which sign-in: what is in a grant of another one has ended, or goes by the second. */
type GrantOf = Readonly<{
  accountId: string;
  clientId: string;
  generation: string | undefined;
  /** Who allowed what is in it: the file, or the user; `pinned`: the user, to a document of the file. */
  consent: Client['consent'] | 'pinned';
}>;

declare module 'oidc-provider' {
  interface Grant {
    consent?: GrantOf['consent'];
  }
}

export async function findGrant(
  provider: Provider,
  grantId: string | undefined,
  of: Pick<GrantOf, 'accountId' | 'clientId' | 'generation'>,
): Promise<Grant | undefined> {
  const grant = grantId === undefined ? undefined : await provider.Grant.find(grantId);
  const isOf = grant?.accountId === of.accountId && grant.clientId === of.clientId;
  return isOf && grant.generation === of.generation ? grant : undefined;
}

/** `existing` or a new one, with what was allowed; not saved. What the user allowed stays apart from what the file does. */
export function grantWith(
  provider: Provider,
  existing: Grant | undefined,
  allowed: AskedFor,
  { accountId, clientId, generation, consent }: GrantOf,
): Grant {
  // Undefined of what an earlier version made.
  const isOfSame = existing !== undefined && (existing.consent ?? 'explicit') === consent;
  const grant = isOfSame
    ? existing
    : Object.assign(new provider.Grant({ accountId, clientId }), { generation, consent });
  addToGrant(grant, allowed);
  return grant;
}

/** Documents that name the clients which had `consent: implicit` once: there, a grant that doesn't say may be the file's. */
export const ONCE_IMPLICIT = 'implicit-clients';

/** Revokes what the file allowed a client that has to ask now, and what a user allowed a document that is no longer pinned. */
export function endImplicitGrants(adapter: Adapter, { clients, records }: App): Adapter {
  return {
    ...adapter,
    async find(id) {
      const grant = await adapter.find(id);
      if (!grant || grant['consent'] === 'explicit') return grant;
      const { clientId = '', consent } = grant;
      if (consent === undefined && !(await records.documents.get(ONCE_IMPLICIT, clientId))) return grant;
      const isKept =
        consent === 'pinned'
          ? clients.find(clientId)
          : (await clients.load(clientId))?.consent !== 'explicit';
      if (isKept) return grant;
      await adapter.destroy(id);
      return undefined;
    },
  };
}

export function createLoadExistingGrant(
  { clients, consents }: App,
  /** Undefined where the file has no such rules. */
  narrowing: Narrowing | undefined,
) {
  return async function loadExistingGrant(ctx: KoaContextWithOIDC): Promise<Grant | undefined> {
    // Nothing is stored for a user without access; the prompt shows them the page.
    if (narrowing?.narrow(ctx) === false) return undefined;
    const { client, session, account, result, provider } = ctx.oidc;
    if (client === undefined || session === undefined || account === undefined) return undefined;
    const { accountId } = account;
    const { clientId } = client;
    const settings = await clients.load(clientId);
    if (settings === undefined) return undefined;
    const grantId = result?.consent?.grantId ?? session.grantIdFor(clientId);
    const { consent } = settings;
    const of = { accountId, clientId, generation: session.generation, consent };
    const existing = await findGrant(provider, grantId, of);
    if (consent === 'implicit') return extend(provider, existing, askedFor(ctx), of);
    const remembered = await consents.find(accountId, clientId);
    return remembered === undefined ? existing : extend(provider, existing, remembered, of);
  };
}

async function extend(provider: Provider, existing: Grant | undefined, allowed: AskedFor, of: GrantOf) {
  if (covers(existing, allowed)) return existing;
  const grant = grantWith(provider, existing, allowed, of);
  await grant.save();
  return grant;
}

const includes = (granted: string, asked: readonly string[]) =>
  asked.every((one) => granted.split(' ').includes(one));

function covers(grant: Grant | undefined, consent: AskedFor): boolean {
  return (
    grant !== undefined &&
    includes(grant.getOIDCScopeEncountered(), consent.scopes) &&
    Object.entries(consent.resourceScopes).every(([resource, asked]) =>
      includes(grant.getResourceScopeEncountered(resource), asked),
    )
  );
}

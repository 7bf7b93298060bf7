// What the answers of the fast path are made of: the same rules that the engine's options have.
import type Provider from 'oidc-provider';
import type { Config } from '../../config/config.ts';
import type { Audit } from '../../observability/audit.ts';
import type { Clock } from '../../store/store.ts';
import type { UnitOfWork } from '../../store/unit-of-work.ts';
import type { AccessTokens } from '../../tokens/access-token.ts';
import type { AudienceRules } from '../../tokens/audience.ts';
import type { Accounts } from '../../users/accounts.ts';
import type { Claims } from '../claims.ts';
import type { SecretComparison } from '../client-authentication.ts';
import type { FindClient } from '../clients.ts';
import type { FindMachineToken } from '../machine-tokens.ts';
import type { AccessPolicy } from '../policies/access.ts';
import type { FindDefault } from '../policies/default-scopes.ts';
import type { FindRefusal } from '../policies/scopes.ts';
import type { SignInPolicy } from '../policies/sign-in-level.ts';
import type { Disclose } from '../policies/token-policies.ts';

export type FastParts = {
  readonly config: Config;
  readonly provider: Provider;
  readonly adapter: { readonly records: UnitOfWork };
  readonly findClient: FindClient;
  readonly secrets: SecretComparison;
  readonly tokens: AccessTokens;
  readonly findMachineToken: FindMachineToken;
  readonly audiences: AudienceRules;
  readonly findRefusal: FindRefusal;
  readonly findDefault: FindDefault;
  readonly findLive: Accounts['findLive'];
  readonly claims: Claims;
  readonly disclose: Disclose;
  /** These two are undefined where the file has no such rules. */
  readonly access: AccessPolicy | undefined;
  readonly signIn: SignInPolicy | undefined;
  readonly audit: Audit;
  readonly maySign: () => boolean;
  readonly now: Clock;
};

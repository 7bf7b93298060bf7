// The claims of an access token about its user: how they signed in, and those that the API is configured to get.
import type { AccessToken, ClientCredentials, KoaContextWithOIDC, RefreshToken } from 'oidc-provider';
import type { App } from './app.ts';
import { sourceOf } from './models.ts';
import { scopesIn } from './policies/scopes.ts';

/** The claims of `access_token_claims` whose scope was granted. */
export async function claimsForApi(
  ctx: KoaContextWithOIDC,
  token: AccessToken | ClientCredentials,
  { audiences, claims }: Pick<App, 'audiences' | 'claims'>,
): Promise<Readonly<Record<string, unknown>>> {
  const source = sourceOf(ctx);
  if (token.kind !== 'AccessToken' || source === undefined) return {};
  // RFC 6749 §6: a refresh may ask for fewer scopes.
  const asked = scopesIn(ctx.oidc.params?.['scope']);
  const granted = asked.length > 0 ? asked : [...source.scopes];
  const audience = token.aud ?? audiences.audienceOf(token.scopes);
  const all = await ctx.oidc.account?.claims('userinfo', granted.join(' '), {}, []);
  return claims.inAccessToken(audience, granted, all ?? {});
}

/** RFC 9068 §2.2.1: when and how the user signed in, if the code or refresh token has it. The fast path's refresh sets `source`. */
export function authenticationClaims(
  ctx: KoaContextWithOIDC | undefined,
  token: object,
): { auth_time?: number; acr?: string; amr?: readonly string[] } {
  const source = sourceOf(ctx) ?? (token as { readonly source?: RefreshToken }).source;
  return {
    ...(source?.authTime !== undefined && { auth_time: source.authTime }),
    ...(source?.acr !== undefined && { acr: source.acr }),
    ...(source?.amr !== undefined && { amr: source.amr }),
  };
}

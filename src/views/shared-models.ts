// What the models of several pages have.
import * as z from 'zod';

const text = z.string();
/** An absolute URL, or a path on this host. */
const url = z.string();

export const ClientModel = z.object({
  id: text,
  /** client_name, or the client_id when there is none. */
  name: text,
  logoUri: url.optional(),
  clientUri: url.optional(),
  /** Where a person can begin anew: the app's own start of a sign-in, or its home page. */
  startUri: url.optional(),
  policyUri: url.optional(),
  tosUri: url.optional(),
});
export type ClientModel = z.infer<typeof ClientModel>;

export const ScopeModel = z.object({ name: text, /** Plain words. */ description: text });
export type ScopeModel = z.infer<typeof ScopeModel>;

export const ApiModel = z.object({
  /** The API's identifier. */
  resource: text,
  /** What to call it: its configured name, or the identifier. */
  name: text,
  scopes: z.array(ScopeModel).readonly(),
});
export type ApiModel = z.infer<typeof ApiModel>;

/** A form that views/assets/passkey.js shows and sends: without JavaScript there are no passkeys. */
export const PasskeyModel = z.object({
  action: url,
  csrf: text,
  /** For the browser: PublicKeyCredentialRequestOptionsJSON, or CreationOptionsJSON, as text. */
  options: text,
});

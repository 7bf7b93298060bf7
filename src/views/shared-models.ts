// Members that the models of several pages share.
import * as z from 'zod';

export const Text = z.string();
/** An absolute URL, or a path on this host. */
export const Url = z.string();

export const ClientModel = z.object({
  id: Text,
  /** client_name, or the client_id when there is none. */
  name: Text,
  logoUri: Url.optional(),
  clientUri: Url.optional(),
  /** Where a user can start again: the app's own start of a sign-in, or its home page. */
  startUri: Url.optional(),
  policyUri: Url.optional(),
  tosUri: Url.optional(),
});
export type ClientModel = z.infer<typeof ClientModel>;

export const ScopeModel = z.object({ name: Text, /** Plain words. */ description: Text });
export type ScopeModel = z.infer<typeof ScopeModel>;

export const ApiModel = z.object({
  resource: Text,
  /** The API's configured name, or its identifier. */
  name: Text,
  scopes: z.array(ScopeModel).readonly(),
});
export type ApiModel = z.infer<typeof ApiModel>;

/** A form that views/assets/passkey.js shows and sends: passkeys need JavaScript. */
export const PasskeyModel = z.object({
  action: Url,
  csrf: Text,
  /** For the browser: PublicKeyCredentialRequestOptionsJSON, or CreationOptionsJSON, as text. */
  options: Text,
});

export const ofUser = {
  client: ClientModel,
  /** Form target of "cancel" or "back to …": the app gets access_denied. */
  cancelAction: Url,
  username: Text,
  otherAccountUrl: Url,
};

/** A page whose form the engine handles. */
export const posted = {
  /** The engine's route, absolute. */
  action: Url,
  /** The engine's own token for that form; its field is called `xsrf`. */
  xsrf: Text,
};

/** The enabled methods to add a second factor. */
export const EnrolmentModel = z.object({
  csrf: Text,
  oneTimeCode: z
    .object({
      action: Url,
      /** base32. */
      secret: Text,
      /** The secret as a QR code: a data URL. */
      qr: Url,
      /** The secret for an app on this device: `otpauth://…`. */
      uri: Url,
      /** The form posts it. */
      sealed: Text,
    })
    .optional(),
  passkey: z.object({ action: Url, options: Text, /** The form posts it. */ handle: Text }).optional(),
  error: z.enum(['wrong_code', 'passkey_refused', 'expired', 'not_confirmed']).optional(),
});
export type EnrolmentModel = Readonly<z.infer<typeof EnrolmentModel>>;

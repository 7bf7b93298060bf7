// The model of each page, field by field: a template never sees a request, only its model. One schema gives the type and
// the names of the fields, which `postern views check` and docs/views.md must match.
import * as z from 'zod';
import { fold } from '../features/index.ts';
import {
  ApiModel,
  ClientModel,
  EnrolmentModel,
  ofUser,
  PasskeyModel,
  posted,
  ScopeModel,
  Text as text,
  Url as url,
} from './shared-models.ts';

export const BrandingModel = z.object({
  name: text,
  logo: url.optional(),
  favicon: url,
  color: text.optional(),
  privacyUri: url.optional(),
  termsUri: url.optional(),
  imprintUri: url.optional(),
  supportUri: url.optional(),
  /** URL of the account page, if it is on. */
  accountUri: url.optional(),
});
export type BrandingModel = z.infer<typeof BrandingModel>;

export const LanguageModel = z.object({
  /** BCP 47 tag. */
  locale: text,
  /** Its own name: `Deutsch`. */
  name: text,
  current: z.boolean(),
  /** This page in that language; the choice is remembered. */
  href: url,
});

/** Shared by every page. */
export const PageContext = z.object({
  /** BCP 47 tag for `<html lang>`. */
  locale: text,
  dir: z.enum(['ltr', 'rtl']),
  branding: BrandingModel,
  /** URLs of the stylesheets in order: ours, the administrator's colour, the administrator's branding.css. */
  stylesheets: z.array(url).readonly(),
  /** Empty if this page can't be requested again. */
  languages: z.array(LanguageModel).readonly(),
});
export type PageContext = z.infer<typeof PageContext>;

/** An app that is known only by its metadata document. client.name is its host. */
export const DocumentModel = z.object({
  /** The app's name for itself. */
  name: text.optional(),
  /** Where the user is redirected: a host, or the scheme of an app on their device. */
  destination: text,
  /** back: the host of the document. device: an app on the user's own device. */
  leads: z.enum(['back', 'elsewhere', 'device']),
});

const login = z.object({
  client: ClientModel,
  /** Form target, absolute. */
  action: url,
  csrf: text,
  /** Prefilled: what was typed before, login_hint, or the user who has to confirm their password. */
  username: text,
  error: z
    .enum(['invalid_credentials', 'factors_off', 'too_many_attempts', 'busy', 'passkey_refused'])
    .optional(),
  /** Form target of "cancel": the app gets access_denied. */
  cancelAction: url,
  cancelCsrf: text,
  /** Link back, after "use another account". */
  backUrl: url.optional(),
  forgotUrl: url.optional(),
  signUpUrl: url.optional(),
  /** A sign-in without a password. */
  passkey: PasskeyModel.optional(),
});

const selectAccount = z.object({
  ...ofUser,
  /** Form target of "continue as …". */
  action: url,
  csrf: text,
  /** Full name, where it is known. */
  displayName: text.optional(),
});

const consent = z.object({
  ...ofUser,
  action: url,
  csrf: text,
  /** What the app asks for now, in plain words. */
  scopes: z.array(ScopeModel).readonly(),
  /** The APIs that a token will be for, with the scopes asked for now. */
  resources: z.array(ApiModel).readonly(),
  /** Set if the app is known only by its metadata document. */
  document: DocumentModel.optional(),
});

/** The signed-in user may not use the app. Sent with status 403. */
const noAccess = z.object({ ...ofUser, csrf: text });

const logout = z.object({ ...posted, client: ClientModel.optional() });

const loggedOut = z.object({
  client: ClientModel.optional(),
  /** signed_out: just now. stayed: the user kept the session. nobody: there was no session. */
  outcome: z.enum(['signed_out', 'stayed', 'nobody']),
});

/** A one-time link. expired (status 410): used before, too old, or replaced by a newer one. maybe_used: status 503. */
const link = z.discriminatedUnion('outcome', [
  /** The user's first password, or a new one. */
  z.object({
    outcome: z.literal('password'),
    purpose: z.enum(['invite', 'reset']),
    action: url,
    csrf: text,
    username: text,
    /** Characters. */
    minLength: z.number(),
    error: z.enum(['too_short', 'too_long', 'guessable', 'different', 'passkey_refused']).optional(),
    /** Instead of a password. */
    passkey: z.object({ options: text, /** Goes back with the form. */ handle: text }).optional(),
  }),
  /** The user's first second factor. */
  z.object({ outcome: z.literal('factors'), username: text, enrolment: EnrolmentModel }),
  z.object({
    outcome: z.literal('done'),
    purpose: z.enum(['invite', 'reset', 'factors']),
    /** The user's page for second factors, with recovery codes. */
    factorsUrl: url.optional(),
  }),
  /** `newLinkUrl`: where the user requests another link, if they can. */
  z.object({ outcome: z.enum(['expired', 'maybe_used']), newLinkUrl: url.optional() }),
]);

const error = z.object({
  status: z.number(),
  /** Stable code: an OAuth error code, or `not_found`, `expired`, `no_cookies`, `forbidden`, `unavailable`. */
  error: text,
  /** A detail for support: one safe sentence, in English. */
  description: text.optional(),
  /** The client ID or redirect URI of the app isn't registered. */
  appFault: z.boolean().optional(),
  /** A reference for support, which the log has too. */
  requestId: text,
  client: ClientModel.optional(),
  /** When the user can try again, if that isn't in a moment. */
  retryAfterMinutes: z.number().optional(),
});

/** The page at the issuer URL. */
const home = z.object({
  /** Next steps, only if the issuer is on localhost. */
  start: z
    .object({ issuer: url, discoveryUrl: url, /** Where a sign-in can be tried. */ tryUrl: url.optional() })
    .optional(),
});

/** The page at /account, with the sections that features declare. stale: the sign-in is too old for a change; sent with status 403. */
const account = z.discriminatedUnion('outcome', [
  z.object({
    outcome: z.literal('page'),
    csrf: text,
    /** Where the user signs in again before a change; absent right after a sign-in. */
    signInUrl: url.optional(),
    /** Why the password, or with no_address the email address, was not changed. */
    error: z
      .enum([
        'wrong_password',
        'too_many_attempts',
        'busy',
        'different',
        'too_short',
        'too_long',
        'guessable',
        'no_address',
      ])
      .optional(),
    ...fold('sections'),
  }),
  z.object({ outcome: z.literal('stale'), signInUrl: url }),
]);

export const PAGE_MODELS = {
  login,
  account,
  'select-account': selectAccount,
  consent,
  'no-access': noAccess,
  logout,
  'logged-out': loggedOut,
  link,
  error,
  home,
  ...fold('pages'),
};

export type PageModels = {
  readonly [N in keyof typeof PAGE_MODELS]: Readonly<z.infer<(typeof PAGE_MODELS)[N]>>;
};
export type PageName = keyof PageModels;

export const PAGE_NAMES = Object.keys(PAGE_MODELS) as readonly PageName[];

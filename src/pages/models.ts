// What each page is given, field by field. Owns the contract between the service and whoever designs a page; a
// template never sees a request, only one of these. docs/views.md lists it all, and fields.ts holds the two together.

export type BrandingModel = {
  readonly name: string;
  /** URL. */
  readonly logo?: string | undefined;
  /** URL of the logo for dark pages, where it is another one. */
  readonly logoDark?: string | undefined;
  /** URL; the built-in icon without one. */
  readonly favicon: string;
  readonly color?: string | undefined;
  readonly privacyUri?: string | undefined;
  readonly termsUri?: string | undefined;
  readonly imprintUri?: string | undefined;
};

/** One language that this page can be shown in. */
export type LanguageModel = {
  /** BCP 47 tag. */
  readonly locale: string;
  /** Its own name: `Deutsch`. */
  readonly name: string;
  readonly current: boolean;
  /** This page in that language; the choice is remembered. */
  readonly href: string;
};

/** Shared by every page. */
export type PageContext = {
  /** BCP 47 tag for `<html lang>`. */
  readonly locale: string;
  /** For `<html dir>`. */
  readonly dir: 'ltr' | 'rtl';
  readonly branding: BrandingModel;
  /** URLs of the stylesheets in their order: ours, the operator's colour, the operator's branding.css. */
  readonly stylesheets: readonly string[];
  /** Empty where this page can't be asked for again. */
  readonly languages: readonly LanguageModel[];
};

export type ClientModel = {
  readonly id: string;
  /** client_name, or the client_id when there is none. */
  readonly name: string;
  readonly logoUri?: string | undefined;
  readonly clientUri?: string | undefined;
  /** Where a person can begin anew: the app's own start of a sign-in, or its home page. */
  readonly startUri?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly tosUri?: string | undefined;
};

export type LoginModel = {
  readonly client: ClientModel;
  /** Form target, absolute. */
  readonly action: string;
  readonly csrf: string;
  /** Prefilled: what was typed before, login_hint, or who has to confirm their password. */
  readonly username: string;
  readonly error?: 'invalid_credentials' | 'too_many_attempts' | 'busy' | undefined;
  /** Form target of "cancel": the app is told access_denied. */
  readonly cancelAction: string;
  /** Token of the cancel form. */
  readonly cancelCsrf: string;
  /** Where "use another account" came from. */
  readonly backUrl?: string | undefined;
};

export type SelectAccountModel = {
  readonly client: ClientModel;
  /** Form target of "continue as …". */
  readonly action: string;
  readonly csrf: string;
  readonly cancelAction: string;
  /** Who is signed in. */
  readonly username: string;
  /** Full name, where it is known. */
  readonly displayName?: string | undefined;
  /** The sign-in for somebody else. */
  readonly otherAccountUrl: string;
};

export type ScopeModel = { readonly name: string; /** Plain words. */ readonly description: string };

export type ApiModel = {
  /** The API's identifier. */
  readonly resource: string;
  /** What to call it: its configured name, or the identifier. */
  readonly name: string;
  readonly scopes: readonly ScopeModel[];
};

export type ConsentModel = {
  readonly client: ClientModel;
  readonly action: string;
  readonly cancelAction: string;
  readonly csrf: string;
  /** Who is signed in. */
  readonly username: string;
  /** What the app asks for now, in plain words. */
  readonly scopes: readonly ScopeModel[];
  /** Scopes of APIs, by API. */
  readonly resources: readonly ApiModel[];
  /** The sign-in for somebody else. */
  readonly otherAccountUrl: string;
};

export type LogoutModel = {
  /** The engine's confirm route, absolute. */
  readonly action: string;
  /** The engine's own token for that form; its field is called `xsrf`. */
  readonly xsrf: string;
  readonly client?: ClientModel | undefined;
};

export type LoggedOutModel = {
  readonly client?: ClientModel | undefined;
  /** signed_out: just now. stayed: the person kept the session. nobody: there was nobody to sign out. */
  readonly outcome: 'signed_out' | 'stayed' | 'nobody';
};

export type ErrorModel = {
  /** HTTP status that the page is sent with. */
  readonly status: number;
  /** Stable code: an OAuth error code, or `not_found`, `expired`, `no_cookies`, `forbidden`, `unavailable`. */
  readonly error: string;
  /** What to tell support: one safe sentence, in English. */
  readonly description?: string | undefined;
  /** What to tell support. */
  readonly requestId: string;
  /** The app that the person came from, where it is known. */
  readonly client?: ClientModel | undefined;
};

/** The try-out of a fresh installation: what the demo app got. */
export type TryModel = {
  /** Where a sign-in begins. */
  readonly startUrl: string;
} & (
  | { readonly outcome: 'ready' }
  | { readonly outcome: 'stale' }
  | { readonly outcome: 'refused'; readonly error: string }
  | {
      readonly outcome: 'signed_in';
      readonly sections: readonly { readonly title: string; readonly text: string }[];
    }
);

/** Page name -> its model. */
export type PageModels = {
  readonly login: LoginModel;
  readonly 'select-account': SelectAccountModel;
  readonly consent: ConsentModel;
  readonly logout: LogoutModel;
  readonly 'logged-out': LoggedOutModel;
  readonly error: ErrorModel;
  readonly try: TryModel;
};

export type PageName = keyof PageModels;

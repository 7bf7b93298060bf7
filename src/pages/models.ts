// What each page is given, field by field. Owns the contract between the service and whoever designs a page; a
// template never sees a request, only one of these.

/** Shared by every page; added by createPages and the caller. */
export type PageContext = {
  /** BCP 47 tag for `<html lang>`. */
  readonly locale: string;
  readonly branding: {
    readonly name: string;
    readonly logo?: string | undefined;
    readonly color?: string | undefined;
  };
};

export type ClientModel = {
  readonly id: string;
  /** client_name, or the client_id when there is none. */
  readonly name: string;
  readonly logoUri?: string | undefined;
  readonly clientUri?: string | undefined;
  readonly policyUri?: string | undefined;
  readonly tosUri?: string | undefined;
};

export type LoginModel = {
  readonly client: ClientModel;
  /** Form target, absolute. */
  readonly action: string;
  readonly csrf: string;
  /** Prefilled: what was typed before, or login_hint. */
  readonly username: string;
  readonly error?: 'invalid_credentials' | 'too_many_attempts' | 'busy' | undefined;
  /** Form target of "cancel": the app is told access_denied. */
  readonly cancelAction: string;
};

export type ScopeModel = { readonly name: string; /** Plain words. */ readonly description: string };

export type ConsentModel = {
  readonly client: ClientModel;
  readonly action: string;
  readonly cancelAction: string;
  readonly csrf: string;
  /** Who is signed in. */
  readonly username: string;
  /** What the app asks for now, in plain words; never empty. */
  readonly scopes: readonly ScopeModel[];
  /** Scopes of APIs, by API. */
  readonly resources: readonly { readonly resource: string; readonly scopes: readonly ScopeModel[] }[];
};

export type LogoutModel = {
  /** The engine's confirm route, absolute. */
  readonly action: string;
  /** The engine's own token for that form; its field is called `xsrf`. */
  readonly xsrf: string;
  readonly client?: ClientModel | undefined;
};

export type LoggedOutModel = { readonly client?: ClientModel | undefined };

export type ErrorModel = {
  /** HTTP status that the page is sent with. */
  readonly status: number;
  /** Stable code: an OAuth error code, or `not_found`, `expired`, `forbidden`, `unavailable`. */
  readonly error: string;
  /** One safe sentence for the person. */
  readonly description?: string | undefined;
  /** What to tell support. */
  readonly requestId: string;
  /** Where the person can go on, when there is a sensible place. */
  readonly link?: { readonly href: string; readonly label: string } | undefined;
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
  readonly consent: ConsentModel;
  readonly logout: LogoutModel;
  readonly 'logged-out': LoggedOutModel;
  readonly error: ErrorModel;
  readonly try: TryModel;
};

export type PageName = keyof PageModels;

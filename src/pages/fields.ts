// The names of the models' fields as data, for what has no types: the check of an operator's template, and the test that
// docs/views.md names them all. The compiler holds this against models.ts.
import type {
  ApiModel,
  BrandingModel,
  ClientModel,
  LanguageModel,
  PageContext,
  PageModels,
  PageName,
  ScopeModel,
} from './models.ts';

type AllKeys<T> = T extends unknown ? keyof T : never;
/** `object` says that the field holds something with fields of its own; a list counts as what it lists. */
type FieldsOf<T> = Readonly<Record<AllKeys<T> & string, Shape>>;
export type Shape = 'value' | keyof typeof OBJECTS | { readonly [field: string]: Shape };

const value = 'value';

/** What models are made of. */
export const OBJECTS = {
  ClientModel: {
    id: value,
    name: value,
    logoUri: value,
    clientUri: value,
    startUri: value,
    policyUri: value,
    tosUri: value,
  },
  ScopeModel: { name: value, description: value },
  ApiModel: { resource: value, name: value, scopes: 'ScopeModel' },
  LanguageModel: { locale: value, name: value, current: value, href: value },
  BrandingModel: {
    name: value,
    logo: value,
    logoDark: value,
    favicon: value,
    color: value,
    privacyUri: value,
    termsUri: value,
    imprintUri: value,
  },
} as const satisfies {
  readonly ClientModel: Readonly<Record<keyof ClientModel, string>>;
  readonly ScopeModel: Readonly<Record<keyof ScopeModel, string>>;
  readonly ApiModel: Readonly<Record<keyof ApiModel, string>>;
  readonly LanguageModel: Readonly<Record<keyof LanguageModel, string>>;
  readonly BrandingModel: Readonly<Record<keyof BrandingModel, string>>;
};

const client = 'ClientModel';

/** Page -> the fields of its `model`. */
export const PAGE_FIELDS: { readonly [N in PageName]: FieldsOf<PageModels[N]> } = {
  login: {
    client,
    action: value,
    csrf: value,
    username: value,
    error: value,
    cancelAction: value,
    cancelCsrf: value,
    backUrl: value,
  },
  'select-account': {
    client,
    action: value,
    csrf: value,
    cancelAction: value,
    username: value,
    displayName: value,
    otherAccountUrl: value,
  },
  consent: {
    client,
    action: value,
    cancelAction: value,
    csrf: value,
    username: value,
    scopes: 'ScopeModel',
    resources: 'ApiModel',
    otherAccountUrl: value,
  },
  logout: { action: value, xsrf: value, client },
  'logged-out': { client, outcome: value },
  error: { status: value, error: value, description: value, requestId: value, client },
  try: { startUrl: value, outcome: value, error: value, sections: { title: value, text: value } },
};

/** What every template sees besides `model`. */
export const CONTEXT_FIELDS: FieldsOf<PageContext> = {
  locale: value,
  dir: value,
  branding: 'BrandingModel',
  stylesheets: value,
  languages: 'LanguageModel',
};

export const PAGE_NAMES = Object.keys(PAGE_FIELDS) as readonly PageName[];

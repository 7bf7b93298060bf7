// Sample data of every page, made from the schema of its model: full, minimal, with each enum value and each branch, with long words.
// `postern views check`, `views preview` and tests render each template with all of them.
import * as z from 'zod';
import { PAGE_MODELS, PAGE_NAMES, type PageModels, type PageName } from '../../views/models.ts';
import { Url } from '../../views/shared-models.ts';

export type PageState = { [N in PageName]: { title: string; name: N; model: PageModels[N] } }[PageName];

// Square, small, and inside the CSP's `img-src data:`.
const picture = (size: number, shapes: string) =>
  `data:image/svg+xml,${encodeURIComponent(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size} ${size}">${shapes}</svg>`)}`;
const QR = picture(
  37,
  `<path fill="white" d="M0,0h37v37h-37z"/><path fill-rule="evenodd" d="M4,4h7v7h-7zm1,1h5v5h-5zm1,1h3v3h-3zM26,4h7v7h-7zm1,1h5v5h-5zm1,1h3v3h-3zM4,26h7v7h-7zm1,1h5v5h-5zm1,1h3v3h-3z"/><path fill="none" stroke="black" stroke-dasharray="1 2 2 1 1 1 3 2" d="M12,4.5${'h13v1h-13v1'.repeat(4)}M4,12.5${'h29v1h-29v1'.repeat(6)}M12,25.5${'h21v1h-21v1'.repeat(4)}"/>`,
);
const LOGO = picture(
  56,
  '<path fill="#0b6e4f" d="M0,0h56v56h-56z"/><circle cx="28" cy="28" r="14" fill="white"/>',
);
const AT = Date.UTC(2026, 10, 23, 2, 55) / 1000;
const HOUR = 3600;
const NOTICES = [
  ...'recovery_code_used codes_failed passkey_refused recovery_codes_made'.split(' '),
  ...['factor_added', 'factor_removed', 'authenticator_replaced'].map((what) => `${what}.one_time_code`),
  ...['factor_added', 'factor_removed'].map((what) => `${what}.passkey`),
];
const LONG_WORD = 'Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft';
const MANY = /^(?:sessions|apps|allowed|factors)$/;
const LONG =
  /^(?:name|username|displayName|description|destination|requestId|email|title|text|browser|resource)$/;

/** By field, or by page and field; the first is the usual one. Other texts are the name of their field, other URLs end with it. */
const EXAMPLES: Readonly<Record<string, readonly string[]>> = {
  name: ['Example web app'],
  'account.name': ['Alice Example'],
  logoUri: [LOGO],
  username: ['alice'],
  'login.username': ['alice', ''],
  displayName: ['Alice Example'],
  password: ['correct horse battery'],
  email: ['alice@example.com'],
  address: ['alice@example.com'],
  pending: ['alice@new.example'],
  description: ['The request has no redirect_uri.'],
  options: ['{}'],
  issuer: ['http://localhost:3000'],
  discoveryUrl: ['http://localhost:3000/.well-known/openid-configuration'],
  secret: ['JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP'],
  qr: [QR],
  'try.title': ['ID token, verified', 'Userinfo'],
  'try.text': ['{\n  "claims": {\n    "sub": "usr_7K2M9XQT",\n    "exp": 1795734180\n  }\n}'],
  'try.error': ['access_denied'],
  codes: Array.from({ length: 10 }, (_, index) => `${4013 + 517 * index}-9XQT-0ABC-DEFG-HJKM-NPQR`),
  userCode: ['WDJB-MJHT'],
  browser: ['Chrome, Windows', ''],
  network: ['203.0.113.0/24'],
  groups: ['staff', 'wiki-editors'],
  destination: ['localhost:51004'],
  requestId: ['01JCZW7P4Q8RM0V3X5T9'],
  'error.error':
    'server_error not_found expired no_cookies forbidden temporarily_unavailable access_denied'.split(' '),
};

const toScopes = (...texts: string[]) => texts.map((description) => ({ name: 'read', description }));
const scopes = toScopes('See your email address', 'See your name and profile');
const resources = [
  { resource: 'https://billing.example', name: 'Billing API', scopes: toScopes('See your invoices') },
  { resource: 'https://mail.example', name: 'https://mail.example', scopes: [] },
];
const session = { at: AT - HOUR, network: '203.0.113.0/24', current: false };
const factor = { createdAt: AT - 99 * HOUR, suspect: false, removeAction: '/remove' };
const method = { method: 'one_time_code', isSetUp: true, url: '/factors' };

/** Realistic lists by field. Other lists have each sample of their entry. */
const LISTS: Readonly<Record<string, readonly object[]>> = {
  scopes,
  resources,
  sessions: [
    { ...session, id: '1', browser: 'Chrome, Windows', current: true },
    { ...session, id: '2', browser: 'Safari, iPhone', usedAt: AT },
    { ...session, id: '3', browser: 'Firefox, Linux', network: '2001:db8:85a3::/56' },
    { ...session, id: '4', browser: '', usedAt: AT },
  ],
  methods: [{ ...method, method: 'passkey' }, method, { ...method, method: 'recovery_codes', left: 9 }],
  'other methods': [{ ...method, isSetUp: false }],
  apps: ['Wiki', 'Calendar'].map((name) => ({ name, uri: `https://${name.toLowerCase()}.example` })),
  allowed: [
    { id: '1', name: 'Wiki', scopes, resources: [] },
    { id: '2', name: 'Invoices', scopes: [], resources },
  ],
  factors: [
    { ...factor, id: '1', method: 'passkey', name: 'iPhone', usedAt: AT },
    { ...factor, id: '2', method: 'passkey', suspect: true },
    { ...factor, id: '3', method: 'one_time_code', removeAction: undefined },
  ],
  notices: NOTICES.map((what, index) => ({ what, at: AT - index * HOUR, ...(index === 0 && { left: 9 }) })),
};

/** Fields that replace others: each of their values is a separate state. */
const APART = new Set([
  'adding',
  'error',
  'done',
  'signInUrl',
  'backUrl',
  'document',
  'link.factorsUrl',
  'appFault',
  'retryAfterMinutes',
]);

type Sample = readonly [label: string, value: unknown];

function samplesOf(schema: unknown, page: string, key: string): readonly Sample[] {
  if (schema instanceof z.ZodReadonly || schema instanceof z.ZodOptional)
    return samplesOf(schema.unwrap(), page, key);
  if (schema instanceof z.ZodObject) return samplesOfObject(schema, page);
  if (schema instanceof z.ZodArray) {
    const list = LISTS[key] ?? samplesOf(schema.unwrap(), page, key).map(([, entry]) => entry);
    const other = LISTS[`other ${key}`];
    return [['', list], [`no ${key}`, []], ...(other ? [[`other ${key}`, other] as const] : [])];
  }
  if (schema instanceof z.ZodEnum) return schema.options.map((option) => [String(option), option]);
  if (schema instanceof z.ZodLiteral) return [['', schema.value]];
  if (schema instanceof z.ZodNumber) return [['', /^at$|At$/.test(key) ? AT : 9]];
  if (schema instanceof z.ZodBoolean)
    return [
      ['', true],
      [`${key} false`, false],
    ];
  return textsOf(schema, page, key);
}

function textsOf(schema: unknown, page: string, key: string): readonly Sample[] {
  const usual = schema === Url ? `https://id.example/${key}` : key;
  const examples = EXAMPLES[`${page}.${key}`] ?? EXAMPLES[key] ?? [usual];
  return examples.map((text, index) => [index === 0 ? '' : text || `no ${key}`, text]);
}

/** Full, minimal, and full with each other value of each field. */
function samplesOfObject({ shape }: z.ZodObject, page: string): readonly Sample[] {
  const fields = Object.entries(shape).map(([key, schema]) => {
    const samples = samplesOf(schema, page, key);
    const least = samples.find(([label]) => label === 'minimal' || label === `no ${key}`) ?? samples[0];
    const isOptional = schema instanceof z.ZodOptional;
    return {
      key,
      samples,
      least,
      isOptional,
      isApart: isOptional && [key, `${page}.${key}`].some((one) => APART.has(one)),
    };
  });
  const entry = (key: string, sample: Sample | undefined) => [key, sample?.[1]] as const;
  const full = Object.fromEntries(
    fields.flatMap(({ key, samples, isApart }) => (isApart ? [] : [entry(key, samples[0])])),
  );
  const minimal = Object.fromEntries(
    fields.flatMap(({ key, least, isOptional }) => (isOptional ? [] : [entry(key, least)])),
  );
  const others = fields.flatMap(({ key, samples, isApart }) =>
    samples
      .slice(isApart ? 0 : 1)
      .map(([label, value]): Sample => [
        label === '' || label === 'minimal' ? `${key} ${label}`.trim() : label,
        { ...full, [key]: value },
      ]),
  );
  const isMore = JSON.stringify(full) !== JSON.stringify(minimal);
  return [['', full], ...(isMore ? [['minimal', minimal] as const] : []), ...others];
}

function statesOf(name: PageName): readonly PageState[] {
  const schema = PAGE_MODELS[name];
  const branches = schema instanceof z.ZodUnion ? schema.options : [schema];
  return branches.flatMap((branch) => {
    const samples = samplesOfObject(branch, name);
    const text = JSON.stringify(samples[0]?.[1]);
    const altered = (label: string, alter: (key: string, value: unknown) => unknown): readonly Sample[] => {
      const model: unknown = JSON.parse(text, alter);
      return JSON.stringify(model) === text ? [] : [[label, model]];
    };
    const all = [
      ...samples,
      ...altered('long words', (key, value) =>
        LONG.test(key) && typeof value === 'string' ? LONG_WORD : value,
      ),
      ...altered('many rows', (key, value) =>
        MANY.test(key) && Array.isArray(value) ? Array.from({ length: 8 }, () => value).flat() : value,
      ),
    ];
    return all.map(([label, model]) => {
      const { outcome = '', kind = outcome } = model as { outcome?: string; kind?: string };
      const title = [...new Set([name, kind, label])].join(' ').trim().replace('  ', ' ');
      return { title, name, model } as PageState;
    });
  });
}

export const PAGE_STATES: readonly PageState[] = PAGE_NAMES.flatMap(statesOf);

/** Returns the schema of each field, inside any list, union or option; undefined for a plain value. */
export function fieldsOf(schema: unknown): Readonly<Record<string, unknown>> | undefined {
  if (schema instanceof z.ZodObject) return schema.shape;
  if (schema instanceof z.ZodUnion) return Object.assign({}, ...schema.options.map(fieldsOf));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodReadonly || schema instanceof z.ZodArray) {
    return fieldsOf(schema.unwrap());
  }
  return undefined;
}

// Email to users: forgotten passwords, invitations, sign-up and notices (docs/mail.md). Off without `mail`.
import path from 'node:path';
import { domainToASCII } from 'node:url';
import * as z from 'zod';
import { group } from '../../config/camel-keys.ts';
import { ACCOUNT_PATH, PAGE } from '../../config/endpoint-rows.ts';
import { DAY, MINUTE } from '../../config/notation.ts';
import type { Rule } from '../../config/rules.ts';
import { emptyFault, labelFault, secretReference, text } from '../../config/text.ts';
import { quoted } from '../../config/yaml.ts';
import type { Declaration, IndexedUser, Reading } from '../feature.ts';
import { AddressModel, email, forgot, letter, signUp } from './models.ts';

export const FORGOT_PATH = '/forgot';
export const SIGN_UP_PATH = '/sign-up';
export const EMAIL_PATH = '/email';
/** The index of users by address. */
export const ADDRESSES = 'mail-addresses';

const ATOM = "[\\w!#$%&'*+/=?^`{|}~-]+";
const ADDRESS = new RegExp(`^(?=.{1,64}@)(${ATOM}(?:\\.${ATOM})*)@([\\p{L}\\p{M}\\p{N}.-]+)$`, 'u');
const DOMAIN = /^(?!-)(?:[a-z\d-]{1,63}\.)*(?=[a-z\d-]*[a-z])[a-z\d-]{1,63}(?<!-)$/;

/**
 * The address of one mailbox, with its domain in ASCII; undefined for anything else. Stricter than RFC 5321: nodemailer parses a text as a
 * list of addresses, each with a name, a comment or quotes.
 */
export function mailAddress(value: unknown): string | undefined {
  const [, local = '', host = ''] = (typeof value === 'string' && ADDRESS.exec(value)) || [];
  const domain = domainToASCII(host);
  const address = `${local}@${domain}`;
  return local !== '' && DOMAIN.test(domain) && address.length <= 254 ? address : undefined;
}

/** The mailbox, for limits: addresses with different tags share one. */
export const mailboxOf = (address: string) => address.toLowerCase().replace(/\+.*@/, '@');

/** The address for email to the user. An address that is marked as unverified gets none. */
export const addressOf = ({ claims }: Pick<IndexedUser, 'claims'>): string | undefined =>
  claims['email_verified'] === false ? undefined : mailAddress(claims['email']);

/** `"Name" <address>`, `Name <address>` or an address. */
export function parseSender(value: string) {
  const [, name = '', inBrackets] = /^"?([^"<>\\]*?)"? ?<([^<>]*)>$/.exec(value) ?? [];
  const address = mailAddress(inBrackets ?? value);
  return address !== undefined && (name === '' || labelFault(name) === undefined)
    ? { name, address }
    : undefined;
}

/** Where email goes: a server, or a folder. `folder` is empty for a server. */
export function parseServer(value: string) {
  const [, folder = ''] = /^folder:(.+)/.exec(value) ?? [];
  const [, tls, named = '', given] =
    /^smtp(s?):\/\/([\w.-]+|\[[\da-f:]+\])(?::(\d{1,5}))?$/i.exec(value) ?? [];
  const port = Number(given ?? (tls ? 465 : 587));
  if ((folder === '' && named === '') || port < 1 || port > 65_535) return undefined;
  return { folder, host: named.replace(/^\[|\]$/g, ''), port, isTls: tls !== '' };
}

const faultUnless = (fits: (value: string) => unknown, message: string) => (value: string) =>
  fits(value) === undefined ? message : undefined;
export const addressFault = faultUnless(mailAddress, 'must be an email address');
const senderFault = faultUnless(
  parseSender,
  'must be an email address, or a name and an address, such as \'"Acme" <no-reply@acme.example>\'',
);
const DOMAINS_FAULT = 'must be any, or a list of domains, such as acme.example';
const domain = text(faultUnless((value) => mailAddress(`a@${value}`), DOMAINS_FAULT));

const signUpSchema = z.strictObject({
  domains: z
    .union([z.literal('any'), z.array(domain).min(1, DOMAINS_FAULT)], DOMAINS_FAULT)
    .describe('Domains whose addresses can create accounts, without their subdomains. any: every address.'),
  groups: z.array(z.string()).default([]).describe('Groups of the new users, defined in groups.'),
});

const groupsAreDefined: Rule<Settings & { readonly groups: object }, unknown> = {
  at: 'mail.sign_up.groups',
  fault({ mail: settings, groups }) {
    const unknown = settings?.signUp?.groups.find((name) => !Object.hasOwn(groups, name));
    return unknown && `unknown group ${quoted(unknown)}: add it to groups`;
  },
};

const mailSchema = group({
  from: text(senderFault).describe('Sender of all email: an address, or "Name" <address>.'),
  server: text(
    faultUnless(
      parseServer,
      'must be smtp://HOST or smtps://HOST, with or without a port (1 to 65535), or folder:PATH, and no username',
    ),
  ).describe(
    'smtp://HOST (port 587, requires STARTTLS), smtps://HOST (port 465, TLS), or folder:PATH, which writes .eml files instead.',
  ),
  username: text(emptyFault).optional().describe('Username at the server.'),
  password: secretReference.optional().describe('Password at the server: env:NAME or file:PATH.'),
  ca: secretReference
    .optional()
    .describe("file:PATH with the certificates (PEM) that sign the server's. Default: those of Node.js."),
  reply_to: text(senderFault).optional().describe('Where replies go. Default: from.'),
  sign_up: signUpSchema.optional().describe('Lets people create an account by email. Default: off.'),
}).refine(
  ({ username, password }) => (username === undefined) === (password === undefined),
  'needs both username and password, or neither',
);

export type MailSettings = z.output<typeof mailSchema>;
type Settings = { readonly mail?: MailSettings | undefined };

export const mail = {
  name: 'mail',
  service: {
    mail: mailSchema
      .optional()
      .describe('Email to users: password resets, invitations and security notices. Default: off.'),
  },
  async read({ mail: settings }: Settings, { folder, secret, open }: Reading) {
    if (settings === undefined) return {};
    const { folder: target = '' } = parseServer(settings.server) ?? {};
    return {
      mail: {
        ...settings,
        server: target === '' ? settings.server : `folder:${path.resolve(folder, target)}`,
        password: settings.password && (await secret(['mail', 'password'], settings.password)),
        ca: settings.ca && (await open(['mail', 'ca'], settings.ca)),
      },
    };
  },
  serviceRules: [groupsAreDefined],
  endpoints: [
    { ...PAGE, name: 'account', path: `${ACCOUNT_PATH}/email`, methods: ['POST'] },
    { ...PAGE, name: 'email', path: `${EMAIL_PATH}/:link`, methods: ['GET', 'HEAD', 'POST'] },
    { ...PAGE, name: 'forgot', path: FORGOT_PATH },
    { ...PAGE, name: 'forgot', path: `${FORGOT_PATH}/sent`, methods: ['GET'] },
    { ...PAGE, name: 'sign_up', path: SIGN_UP_PATH },
    { ...PAGE, name: 'sign_up', path: `${SIGN_UP_PATH}/sent`, methods: ['GET'] },
  ],
  limits: {
    'mail.address': { limit: 5, windowSeconds: 10 * MINUTE },
    'mail.network': { limit: 50, windowSeconds: 10 * MINUTE },
    // Per mailbox, for email that anyone can request. Counted before sending; email above these limits isn't sent.
    'mail.recipient': { limit: 3, windowSeconds: 30 * MINUTE },
    'mail.changes': { limit: 10, windowSeconds: DAY },
    'mail.notices': { limit: 20, windowSeconds: DAY },
    // These only delay email. Email that anyone can request can't use up the limit of all email.
    'mail.sent': { limit: 600, windowSeconds: 10 * MINUTE },
    'mail.asked': { limit: 500, windowSeconds: 10 * MINUTE },
    'mail.sign_ups': { limit: 250, windowSeconds: 10 * MINUTE },
  },
  audit: ['mail'],
  metrics: {
    mail_total: ['Email that was sent, or is not sent any more.', 'kind', 'outcome'],
    mail_waiting: ["Email in the store that isn't sent yet."],
    mail_oldest_seconds: ['How long the oldest of it has waited.'],
  },
  // Kept while email is off, too, because it can be turned on at any time.
  userIndexes: { [ADDRESSES]: (user: IndexedUser) => addressOf(user)?.toLowerCase() },
  pages: { email, forgot, letter, 'sign-up': signUp },
  sections: { address: AddressModel },
  sendsNotes: true,
  isOn: ({ mail: settings }: Settings) => settings !== undefined,
} as const satisfies Declaration;

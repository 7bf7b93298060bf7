// Second factors of users in a running world: puts them into its store as an enrolment does, and answers with them. There are
// an authenticator app, and a security key or a phone with passkeys (WebAuthn Level 3), without a browser.
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { Secret, TOTP } from 'otpauth';
import { createFactorStore, type FactorStore, type Factors, sealedFor } from '../../src/users/factors.ts';
import { newRecoveryCode, recoveryCodeHash } from '../../src/features/second-factors/recovery-codes.ts';
import type { Browser, Page } from './browser.ts';
import { idOf, type User } from './person.ts';
import { hashOf, worldVault } from './stored.ts';
import type { OpenWorld } from './world.ts';

type Place = Pick<OpenWorld, 'openedStore' | 'issuer'>;

/** Period of one-time codes in seconds. */
export const CODE_PERIOD = 30;

export async function factorsOf({ openedStore }: Place): Promise<FactorStore> {
  return createFactorStore(openedStore.documents, await hashOf(openedStore));
}

export async function ownFactors(world: Place, person: User = 'alice'): Promise<Factors> {
  return (await factorsOf(world)).get(idOf(person));
}

/** Replaces all second factors of the user. */
export async function setFactors(world: Place, person: User, factors: Partial<Factors> = {}): Promise<void> {
  const store = await factorsOf(world);
  await store.remove(idOf(person));
  await store.change(idOf(person), () => factors);
}

export type AuthenticatorApp = {
  /** The current code, or the one this many periods later. */
  readonly code: (periods?: number) => string;
  readonly wrong: () => string;
  readonly factor: NonNullable<Factors['oneTimeCode']>;
};

export function newAuthenticatorApp(person: User): AuthenticatorApp {
  const bytes = randomBytes(20);
  const totp = new TOTP({ secret: new Secret({ buffer: new Uint8Array(bytes).buffer }) });
  const code = (periods = 0) => totp.generate({ timestamp: Date.now() + periods * CODE_PERIOD * 1000 });
  const sealed = worldVault().seal(bytes, sealedFor(idOf(person)));
  return {
    code,
    /** A code that isn't valid in these minutes. */
    wrong() {
      const right = Array.from({ length: 9 }, (_, index) => code(index - 4));
      const simple = Array.from({ length: 10 }, (_, digit) => `00000${digit}`);
      return simple.find((one) => !right.includes(one)) as string;
    },
    factor: { sealed, lastStep: 0, createdAt: 0 },
  };
}

/** The page for factors together with the forms of the pages to add one, the passkey first. Returns any other page unchanged. */
export async function withAddForms(browser: Browser, page: Page): Promise<Page> {
  const urls = new Set([...page.text.matchAll(/href="([^"]*\?add=\w+)"/g)].map(([, url = '']) => url));
  const forms = await Promise.all(
    [...urls]
      .toSorted()
      .toReversed()
      .map((url) => browser.open(url)),
  );
  return { ...page, text: [page, ...forms].map(({ text }) => text).join('') };
}

/** The code of an authenticator app that has the secret on this page. */
export function codeFor({ text, url }: Page, periods = 0): string {
  const [, secret] = /<code class="secret">([A-Z2-7 ]+)</.exec(text) ?? [];
  if (secret === undefined) throw new Error(`no secret on ${url}:\n${text}`);
  const totp = new TOTP({ secret: Secret.fromBase32(secret.replaceAll(' ', '')) });
  return totp.generate({ timestamp: Date.now() + periods * CODE_PERIOD * 1000 });
}

/** Gives the user an authenticator app and the factors in `more`, and no others. */
export async function giveOneTimeCodes(
  world: Place,
  person: User = 'alice',
  more: Partial<Factors> = {},
): Promise<AuthenticatorApp> {
  const app = newAuthenticatorApp(person);
  await setFactors(world, person, { ...more, oneTimeCode: app.factor });
  return app;
}

/** Creates recovery codes; resolves them with their stored form. */
export async function newRecoveryCodes(world: Place, person: User = 'alice', count = 3) {
  const hash = await hashOf(world.openedStore);
  const codes = Array.from({ length: count }, () => newRecoveryCode());
  return { codes, recoveryCodes: codes.map((code) => recoveryCodeHash(hash, idOf(person), code)) };
}

const base64url = (data: Buffer | string) => Buffer.from(data).toString('base64url');
const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest();

/** Key types that a passkey may have (WebAuthn L3 §6.5.1.1). */
const KINDS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  EdDSA: () => generateKeyPairSync('ed25519'),
};

/** Encodes a key as COSE (RFC 9053 §2 and §7, RFC 8230 §4). */
function toCose(key: KeyObject): Buffer {
  const { kty, x = '', y = '', n = '' } = key.export({ format: 'jwk' });
  const parts: readonly (readonly [string, string])[] =
    kty === 'RSA'
      ? [
          ['a401030339010020590100', n],
          ['2143', 'AQAB'],
        ]
      : kty === 'OKP'
        ? [['a4010103272006215820', x]]
        : [
            ['a5010203262001215820', x],
            ['225820', y],
          ];
  return Buffer.concat(
    parts.flatMap(([head, value]) => [Buffer.from(head, 'hex'), Buffer.from(value, 'base64url')]),
  );
}

const FLAGS = { present: 0x01, verified: 0x04, eligible: 0x08, backedUp: 0x10, attested: 0x40 };

export type AssertChanges = {
  readonly challenge?: string;
  readonly counter?: number;
  readonly origin?: string;
  readonly rpId?: string;
  readonly type?: string;
  readonly verifiesUser?: boolean;
  /** Whether the user touches the key. */
  readonly isPresent?: boolean;
  readonly userHandle?: string | undefined;
  /** Backup eligible and backed up; by default as the key is. */
  readonly synced?: boolean;
  /** Further members of the client data. */
  readonly clientData?: Readonly<Record<string, unknown>>;
};

export type CreateChanges = Pick<
  AssertChanges,
  'challenge' | 'origin' | 'rpId' | 'type' | 'verifiesUser' | 'isPresent' | 'clientData'
> & {
  /** Id of the credential; base64url. */
  readonly id?: string;
  /** Format of the attestation, up to 23 characters. */
  readonly format?: string;
  /** Attestation statement as CBOR. */
  readonly attest?: (of: { readonly authData: Buffer; readonly clientDataHash: Buffer }) => Buffer;
  readonly toCose?: (key: Buffer) => Buffer;
};

/** The options of passkeys that the page's form holds for the browser. */
export function passkeyOptionsOf({ text }: Pick<Page, 'text'>): {
  readonly challenge: string;
  readonly [member: string]: unknown;
} {
  const found = /data-options="([^"]*)"/.exec(text)?.[1];
  if (found === undefined) throw new Error(`no passkey form in ${text.slice(0, 2000)}`);
  return JSON.parse(found.replaceAll('&#34;', '"').replaceAll('&amp;', '&')) as {
    readonly challenge: string;
  };
}

export class SoftwareKey {
  readonly id = base64url(randomBytes(16));
  readonly handle = base64url(randomBytes(32));
  readonly #keys: { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
  readonly #settings: { readonly verifiesUser: boolean; readonly synced: boolean };
  #counter = 0;

  constructor({
    kind = 'ES256',
    ...settings
  }: {
    readonly verifiesUser?: boolean;
    readonly synced?: boolean;
    readonly kind?: keyof typeof KINDS;
  } = {}) {
    this.#settings = { verifiesUser: true, synced: false, ...settings };
    this.#keys = KINDS[kind]();
  }

  /** The uncompressed point of an ES256 key. */
  get point(): Buffer {
    return this.#keys.publicKey.export({ format: 'der', type: 'spki' }).subarray(-65);
  }

  get factor(): Factors['passkeys'][number] {
    return {
      id: this.id,
      publicKey: base64url(toCose(this.#keys.publicKey)),
      counter: this.#counter,
      transports: ['internal'],
      ...this.#settings,
      aaguid: '00000000-0000-0000-0000-000000000000',
      name: 'A key',
      createdAt: 0,
    };
  }

  /** The credential for a browser's virtual authenticator (WebAuthn L3 §11). */
  forBrowser({ issuer }: Pick<OpenWorld, 'issuer'>) {
    const base64 = (text: string) => Buffer.from(text, 'base64url').toString('base64');
    return {
      credentialId: base64(this.id),
      isResidentCredential: true,
      rpId: new URL(issuer).hostname,
      privateKey: this.#keys.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
      userHandle: base64(this.handle),
      signCount: this.#counter,
    };
  }

  /** What a browser sends for `navigator.credentials.create`, as text; without attestation, as requested. */
  create(
    { issuer }: Pick<OpenWorld, 'issuer'>,
    page: Pick<Page, 'text'>,
    changes: CreateChanges = {},
  ): string {
    const { origin, hostname } = new URL(issuer);
    const { verifiesUser = this.#settings.verifiesUser, id = this.id, format = 'none' } = changes;
    const { isPresent = true, attest = () => Buffer.from([0xa0]) } = changes;
    const clientData = JSON.stringify({
      type: changes.type ?? 'webauthn.create',
      challenge: changes.challenge ?? passkeyOptionsOf(page).challenge,
      origin: changes.origin ?? origin,
      crossOrigin: false,
      ...changes.clientData,
    });
    const { synced } = this.#settings;
    const ofSync = synced ? FLAGS.eligible | FLAGS.backedUp : 0;
    const head = Buffer.alloc(5);
    const ofUser = (isPresent ? FLAGS.present : 0) | (verifiesUser ? FLAGS.verified : 0);
    head.writeUInt8(FLAGS.attested | ofUser | ofSync, 0);
    const credentialId = Buffer.from(id, 'base64url');
    const length = Buffer.alloc(2);
    length.writeUInt16BE(credentialId.length);
    const cose = changes.toCose?.(toCose(this.#keys.publicKey)) ?? toCose(this.#keys.publicKey);
    const ids = [Buffer.alloc(16), length, credentialId, cose];
    const authData = Buffer.concat([sha256(changes.rpId ?? hostname), head, ...ids]);
    const size = Buffer.alloc(2);
    size.writeUInt16BE(authData.length);
    // RFC 8949 §3.1: a map with three members: a text, the statement, and bytes with a two-byte length.
    const attestationObject = Buffer.concat([
      Buffer.from('a363666d74', 'hex'),
      Buffer.from([0x60 + format.length]),
      Buffer.from(format),
      Buffer.from('6761747453746d74', 'hex'),
      attest({ authData, clientDataHash: sha256(clientData) }),
      Buffer.from('686175746844617461', 'hex'),
      Buffer.from([0x59]),
      size,
      authData,
    ]);
    return JSON.stringify({
      id,
      rawId: id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        attestationObject: base64url(attestationObject),
        transports: ['internal'],
      },
    });
  }

  /** What a browser sends for `navigator.credentials.get`, as text. */
  assert(
    { issuer }: Pick<OpenWorld, 'issuer'>,
    page: Pick<Page, 'text'>,
    changes: AssertChanges = {},
  ): string {
    const { origin, hostname } = new URL(issuer);
    const { verifiesUser = this.#settings.verifiesUser, counter = (this.#counter += 1) } = changes;
    const { isPresent = true } = changes;
    const clientData = Buffer.from(
      JSON.stringify({
        type: changes.type ?? 'webauthn.get',
        challenge: changes.challenge ?? passkeyOptionsOf(page).challenge,
        origin: changes.origin ?? origin,
        crossOrigin: false,
        ...changes.clientData,
      }),
    );
    const { synced } = { ...this.#settings, ...changes };
    const ofUser = (isPresent ? FLAGS.present : 0) | (verifiesUser ? FLAGS.verified : 0);
    const flags = ofUser | (synced ? FLAGS.eligible | FLAGS.backedUp : 0);
    const tail = Buffer.alloc(5);
    tail.writeUInt8(flags, 0);
    tail.writeUInt32BE(counter, 1);
    const authenticatorData = Buffer.concat([sha256(changes.rpId ?? hostname), tail]);
    const signed = Buffer.concat([authenticatorData, sha256(clientData)]);
    const isEd = this.#keys.privateKey.asymmetricKeyType === 'ed25519';
    return JSON.stringify({
      id: this.id,
      rawId: this.id,
      type: 'public-key',
      authenticatorAttachment: 'platform',
      clientExtensionResults: {},
      response: {
        clientDataJSON: base64url(clientData),
        authenticatorData: base64url(authenticatorData),
        signature: base64url(sign(isEd ? null : 'sha256', signed, this.#keys.privateKey)),
        userHandle: 'userHandle' in changes ? changes.userHandle : this.handle,
      },
    });
  }
}

/** Gives the user this passkey and the factors in `more`. */
export async function givePasskey(
  world: Place,
  person: User = 'alice',
  { key = new SoftwareKey(), ...more }: Partial<Factors> & { readonly key?: SoftwareKey } = {},
): Promise<SoftwareKey> {
  await setFactors(world, person, { ...more, handle: key.handle, passkeys: [key.factor] });
  const store = await factorsOf(world);
  await store.claimHandle(key.handle, idOf(person));
  await store.claimCredential(key.id, idOf(person));
  return key;
}

/** Whether the page asks for a second factor and not for a password. */
export const isSecondStep = (page: Page): boolean =>
  /action="[^"]*\/(?:code|passkey)"/.test(page.text) && !page.text.includes('name="password"');

// The pages of the device flow (RFC 8628 §3.3): the code that a device shows, what a yes would allow, and the end. Nothing is approved
// before the person has said yes to what they see here, whatever they allowed before.
import type { ErrorOut, KoaContextWithOIDC } from 'oidc-provider';
import type { Config } from '../config/config.ts';
import { DEVICE_PATH } from '../config/endpoints.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { StoreUnavailable } from '../store/store.ts';
import { Refusal } from '../views/refusal.ts';
import type { PageModels } from '../views/models.ts';
import type { Pages, RenderContext } from '../views/pages.ts';
import type { FindClient } from './clients.ts';
import { toClientModel } from './client-model.ts';
import type { EnginePages } from './engine-pages.ts';
import { scopesIn } from './policies/scopes.ts';
import { toAllowedModels } from './scope-words.ts';
import { placeOf } from './place.ts';
import type { Place } from './seam/session-sign-in.ts';

export type DevicePagesParts = {
  readonly config: Pick<Config, 'issuer' | 'groups' | 'resources' | 'scopes'>;
  readonly pages: Pages;
  readonly findClient: FindClient;
  readonly renderError: EnginePages['renderError'];
};

type DeviceModel = PageModels['device'];
type Code = NonNullable<KoaContextWithOIDC['oidc']['entities']['DeviceCode']>;
type CodeFault = Error & { readonly userCode?: string };

/** Codes that are wrong, used or too old are one page (RFC 8628 §5.1). */
const WRONG = new Set(['NotFoundError', 'ExpiredError', 'AlreadyUsedError', 'NoCodeError']);
/** What the engine says of a form without the token of the browser's session. */
const FORGED = new Set(['xsrf token invalid', 'could not find device form details']);
const MAX_SHOWN = 32;

export type DevicePages = ReturnType<typeof createDevicePages>;

const xsrfOf = ({ oidc: { session } }: KoaContextWithOIDC) =>
  (session?.state as { readonly secret?: string } | undefined)?.secret ?? '';

type ShowParts = Omit<DevicePagesParts, 'renderError'>;

function createShow({ config, pages, findClient }: ShowParts) {
  const { issuer } = config;
  const action = `${issuer}${DEVICE_PATH}`;

  function show(ctx: KoaContextWithOIDC, model: DeviceModel, status = 200): void {
    ctx.status = status;
    ctx.set('Cache-Control', 'no-store');
    ctx.type = 'html';
    ctx.body = pages.render('device', model, ctx.state['page'] as RenderContext);
  }

  function showInput(ctx: KoaContextWithOIDC, typed: string, error?: 'wrong'): void {
    const form = { action, xsrf: xsrfOf(ctx), userCode: typed.slice(0, MAX_SHOWN) };
    show(ctx, { outcome: 'input', ...form, error }, error === undefined ? 200 : 422);
  }

  function showConfirm(ctx: KoaContextWithOIDC, code: Code, userCode: string): void {
    const client = findClient(code.clientId ?? '');
    if (client === undefined) return showInput(ctx, userCode, 'wrong');
    const { locale } = ctx.state['page'] as RenderContext;
    const { scope, resource } = code.params as {
      readonly scope?: string;
      readonly resource?: string | string[];
    };
    const scopes = scopesIn(scope);
    const asked = {
      scopes,
      resourceScopes: Object.fromEntries([resource ?? []].flat().map((api) => [api, scopes])),
    };
    const { browser, network } = code.deviceInfo as unknown as Place;
    const form = { action, xsrf: xsrfOf(ctx), userCode, client: toClientModel(client, issuer) };
    const words = toAllowedModels(asked, config, (key) => pages.text(locale, key));
    return show(ctx, { outcome: 'confirm', ...form, browser, network, ...words });
  }

  return { show, showInput, showConfirm };
}

/** What the engine calls when it has something to show. */
export function createDevicePages({ renderError, ...parts }: DevicePagesParts) {
  const { config, findClient } = parts;
  const { show, showInput, showConfirm } = createShow(parts);

  async function showFault(ctx: KoaContextWithOIDC, error: CodeFault, out?: ErrorOut): Promise<void> {
    // The engine has put a new token into a session that was never saved, and would fail to save it again.
    const { session } = ctx.oidc;
    if (session !== undefined && session.exp === undefined) await session.destroy();
    if (error.name === 'AbortedError') return show(ctx, { outcome: 'cancelled' });
    if (WRONG.has(error.name)) return showInput(ctx, error.userCode ?? '', 'wrong');
    // The engine would answer 500; http/errors.ts knows better.
    if (error instanceof TooManyRequests || error instanceof StoreUnavailable) throw error;
    if (FORGED.has(out?.error_description ?? '')) {
      throw new Refusal(403, 'forbidden', 'the form was not sent from this browser, or is too old');
    }
    return renderError(ctx, out ?? { error: 'invalid_request' }, error);
  }

  /** RFC 8628 §3.3.1: the address with the code in it spares the typing and nothing else. */
  async function showLinked(ctx: KoaContextWithOIDC): Promise<void> {
    const typed: unknown = ctx.state['userCode'];
    if (typeof typed !== 'string') return showInput(ctx, '');
    const code = await ctx.oidc.provider.DeviceCode.findByUserCode(normalize(typed));
    const isOpen =
      code !== undefined && code.error === undefined && code.accountId === undefined && !code.inFlight;
    return isOpen ? showConfirm(ctx, code, spell(normalize(typed))) : showInput(ctx, typed, 'wrong');
  }

  return {
    /** Where a device asks from. */
    deviceInfo: placeOf,
    userCodeInputSource: async (
      ctx: KoaContextWithOIDC,
      _form: string,
      out?: ErrorOut,
      error?: CodeFault,
    ): Promise<void> => (error === undefined ? showLinked(ctx) : showFault(ctx, error, out)),
    userCodeConfirmSource: async (
      ctx: KoaContextWithOIDC,
      _form: string,
      _client: unknown,
      _info: unknown,
      userCode: string,
    ): Promise<void> => {
      const code = ctx.oidc.entities.DeviceCode;
      if (code !== undefined) showConfirm(ctx, code, userCode);
    },
    async successSource(ctx: KoaContextWithOIDC): Promise<void> {
      const client = findClient(ctx.oidc.client?.clientId ?? '');
      show(ctx, { outcome: 'done', client: client && toClientModel(client, config.issuer) });
    },
  };
}

/** What the engine makes of a typed code. */
const normalize = (typed: string) => typed.toUpperCase().replaceAll(/\W/g, '');
const spell = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;

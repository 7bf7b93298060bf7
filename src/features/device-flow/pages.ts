// The pages of the device flow (RFC 8628 §3.3): entry of the code that a device shows, approval, and result. The user must always approve
// what they see here, whatever they approved before.
import { type Configuration, type ErrorOut, errors, type KoaContextWithOIDC } from 'oidc-provider';
import { TooManyRequests } from '../../limits/limits.ts';
import { originOf, type Outcome } from '../../observability/audit.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { Refusal } from '../../views/refusal.ts';
import type { PageModels } from '../../views/models.ts';
import type { App } from '../../oidc/app.ts';
import { toClientModel } from '../../oidc/client-model.ts';
import { CodeUsed, signedInUser } from './codes.ts';
import { DEVICE_CODE_GRANT, DEVICE_PATH } from './feature.ts';
import { formSecretOf, signInFirst, typedIn } from './around.ts';
import { isOwnNavigation } from '../../oidc/form-origin.ts';
import { scopesIn } from '../../oidc/policies/scopes.ts';
import { toAllowedModels } from '../../oidc/scope-words.ts';
import { placeOf } from '../../oidc/place.ts';
import type { Place } from '../../users/user-index.ts';
import { pageContextOf, sendPage } from '../../oidc/send-page.ts';

type DeviceModel = PageModels['device'];
type Code = NonNullable<KoaContextWithOIDC['oidc']['entities']['DeviceCode']>;

/** Wrong, used and expired codes get the same page (RFC 8628 §5.1). */
const WRONG = new Set(['NotFoundError', 'ExpiredError', 'AlreadyUsedError', 'NoCodeError', CodeUsed.name]);
const MAX_SHOWN = 32;

function createShow({ config, pages, clients, findLive }: App) {
  const { issuer } = config;
  const action = `${issuer}${DEVICE_PATH}`;

  function show(ctx: KoaContextWithOIDC, model: DeviceModel, status = 200): void {
    ctx.status = status;
    const context = pageContextOf(ctx);
    // The last page can't be requested again in another language.
    const isLast = model.outcome === 'done' || model.outcome === 'cancelled';
    sendPage(ctx, pages.render('device', model, isLast ? { locale: context.locale } : context));
  }

  function showInput(ctx: KoaContextWithOIDC, typed: string, error?: 'wrong'): void {
    const form = { action, xsrf: formSecretOf(ctx), userCode: typed.slice(0, MAX_SHOWN) };
    show(ctx, { outcome: 'input', ...form, error }, error === undefined ? 200 : 422);
  }

  async function showConfirm(ctx: KoaContextWithOIDC, code: Code, userCode: string): Promise<void> {
    const client = await clients.load(code.clientId);
    // The client was removed, or may no longer use this grant: an approval would have no effect.
    if (!client?.grantTypes.includes(DEVICE_CODE_GRANT)) return showInput(ctx, userCode, 'wrong');
    const { locale } = pageContextOf(ctx);
    const { scope, resource } = code.params as Readonly<{ scope?: string; resource?: string }>;
    const scopes = scopesIn(scope);
    const asked = { scopes, resourceScopes: resource === undefined ? {} : { [resource]: scopes } };
    const { browser, network } = code.deviceInfo as unknown as Place;
    const form = { action, xsrf: formSecretOf(ctx), userCode, client: toClientModel(client, issuer) };
    const user = await signedInUser(findLive, ctx.oidc.session);
    const words = toAllowedModels(asked, config, (key) => pages.text(locale, key));
    return show(ctx, { outcome: 'confirm', ...form, username: user?.username, browser, network, ...words });
  }

  return { show, showInput, showConfirm };
}

/** Throws errors that http/errors.ts answers, so that nothing of the request is saved. */
function throwOurs(error: Error, description = ''): void {
  if (error instanceof TooManyRequests || error instanceof StoreUnavailable) throw error;
  // If a browser comes back twice at once, the second time is too late; the engine has stored that in the code.
  if (error.name === 'SessionNotFound') throw new Refusal(400, 'expired', description);
}

export function createDevicePages(app: App) {
  const { config, clients, findLive, enginePages, audit, records } = app;
  const { show, showInput, showConfirm } = createShow(app);
  /** Records an approval or a denial once it is stored. The user always gives one, whatever they approved before. */
  function record({ state, oidc }: KoaContextWithOIDC, outcome: Outcome, reason?: string): void {
    const { entities, session } = oidc;
    const { clientId, scope } = entities.DeviceCode ?? {};
    const who = { client_id: clientId, account_id: session?.accountId };
    const what = { action: 'device', scope, reason };
    records.afterwards(() => audit.record('consent', outcome, { ...originOf(state), ...who, ...what }));
  }

  async function showFault(ctx: KoaContextWithOIDC, error: Error, out?: ErrorOut): Promise<void> {
    // The engine has put a new token into a session that was never saved, and would fail to save it.
    const { session } = ctx.oidc;
    if (session !== undefined && session.exp === undefined) await session.destroy();
    if (error.name === 'AbortedError') {
      // A denial on the pages of the sign-in is recorded there.
      if (ctx.oidc.route === 'code_verification') record(ctx, 'failure', 'declined');
      return show(ctx, { outcome: 'cancelled' });
    }
    const typed = typedIn(ctx);
    if (WRONG.has(error.name)) return showInput(ctx, typed, 'wrong');
    if (error instanceof errors.LoginRequired)
      return signInFirst(ctx, config.issuer, typed.slice(0, MAX_SHOWN));
    throwOurs(error, out?.error_description);
    return enginePages.renderError(ctx, out ?? { error: 'invalid_request' }, error);
  }

  /** RFC 8628 §3.3.1: a code in the URL only saves typing. A link from another site doesn't count as a try. */
  async function showLinked(ctx: KoaContextWithOIDC): Promise<void> {
    const typed = typedIn(ctx);
    const isTry = typed !== '' && isOwnNavigation(ctx);
    if (!isTry || !(await signedInUser(findLive, ctx.oidc.session))) return showInput(ctx, typed);
    const letters = typed.toUpperCase().replaceAll(/\W/g, '');
    const code = await ctx.oidc.provider.DeviceCode.findByUserCode(letters);
    if (code?.isExpired !== false) return showInput(ctx, typed, 'wrong');
    return showConfirm(ctx, code, `${letters.slice(0, 4)}-${letters.slice(4)}`);
  }

  return {
    /** The browser and network that a device requests from. */
    deviceInfo: placeOf,
    userCodeInputSource: (ctx, _form, out, error) =>
      error === undefined ? showLinked(ctx) : showFault(ctx, error, out),
    async userCodeConfirmSource(ctx, _form, _client, _info, userCode) {
      const code = ctx.oidc.entities.DeviceCode;
      if (code !== undefined) await showConfirm(ctx, code, userCode);
    },
    async successSource(ctx) {
      record(ctx, 'success');
      const client = await clients.load(ctx.oidc.client?.clientId);
      show(ctx, { outcome: 'done', client: client && toClientModel(client, config.issuer) });
    },
  } satisfies NonNullable<Configuration['features']>['deviceFlow'];
}

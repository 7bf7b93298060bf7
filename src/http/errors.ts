// The one place where a failure becomes an answer: JSON for programs, a page for users, 503 for an outage, and never
// a stack or a version.
import type { Context, Middleware } from 'koa';
import { PasswordQueueFull } from '../users/hashing-threads.ts';
import { ENDPOINTS, isPagePath } from '../config/endpoints.ts';
import { TooManyRequests } from '../limits/limits.ts';
import { ClientUnavailable } from '../oidc/clients.ts';
import { showPage } from '../oidc/send-page.ts';
import { VaultError } from '../keys/vault.ts';
import type { ClientModel } from '../views/shared-models.ts';
import type { Pages } from '../views/pages.ts';
import { FormFault, UnreadableForm } from '../store/form.ts';
import { StoreRefused, StoreUnavailable } from '../store/store.ts';
import { createThrottle, originOf } from '../observability/audit.ts';
import type { Telemetry } from '../observability/telemetry.ts';
import { FormRefusal, Refusal } from '../views/refusal.ts';
import { routeName } from './route-name.ts';

const AWAY = {
  status: 503,
  error: 'temporarily_unavailable',
  description: "the service can't answer right now, try again in a moment",
} as const;

type Answer = Readonly<{
  status: number;
  error: string;
  description?: string | undefined;
  retryAfterSeconds?: number;
  /** The app that a user can go back to. */
  client?: ClientModel | undefined;
}>;

export function answerErrors(pages: Pages, { log, audit, metrics }: Telemetry): Middleware {
  const timesToSay = createThrottle(() => Date.now());

  /** A persistent fault affects all requests that need the same data, until an administrator acts. */
  const isRepeated = (error: unknown): boolean =>
    (error instanceof FormFault || error instanceof StoreRefused) && timesToSay(error.message) === undefined;

  /** Records a form that none of our pages sent. */
  function recordForm({ state }: Context, endpoint: string, { reason }: FormRefusal): void {
    const times = timesToSay(`${endpoint} ${reason}`);
    if (times !== undefined)
      audit.record('form_refused', 'failure', { ...originOf(state), endpoint, reason, times });
  }

  function send(ctx: Context, answer: Answer): void {
    const { status, error, description, retryAfterSeconds } = answer;
    ctx.status = status;
    ctx.set('Cache-Control', 'no-store');
    if (retryAfterSeconds !== undefined) ctx.set('Retry-After', String(retryAfterSeconds));
    const requestId = String(ctx.state['requestId'] ?? '');
    if (isForUsers(ctx)) {
      // A user reports the reference to the administrator, who searches the log for it.
      if (status < 500) {
        log.info({ requestId, route: routeName(ctx), status, error }, 'page refused');
      }
      const minutes = Math.ceil((retryAfterSeconds ?? 0) / 60);
      const retryAfterMinutes = minutes > 1 ? minutes : undefined;
      const model = { status, error, description, requestId, client: answer.client, retryAfterMinutes };
      showPage(ctx, pages, ['error', model], status);
      return;
    }
    ctx.body = { error, error_description: description, request_id: requestId };
  }

  return async function answerError(ctx, next) {
    try {
      await next();
    } catch (error) {
      const answer = toAnswer(error, ctx);
      if (error instanceof UnreadableForm) metrics.count('damaged_records', { kind: error.collection });
      const route = routeName({ path: ctx.path, status: answer.status });
      if (error instanceof FormRefusal) recordForm(ctx, route, error);
      if (answer.status >= 500) {
        const failure = { requestId: ctx.state['requestId'], route, err: error };
        // Anyone can send a client_id that can't be looked up now.
        if (error instanceof ClientUnavailable) {
          ctx.state['cause'] = error.why;
          log.info(failure, 'request failed');
        } else if (isRepeated(error)) log.debug(failure, 'request failed');
        else log.error(failure, 'request failed');
      }
      send(ctx, answer);
    }
    if (ctx.status === 404 && ctx.body === undefined) send(ctx, { status: 404, error: 'not_found' });
  };
}

function toAnswer(error: unknown, ctx: Context): Answer {
  if (error instanceof Refusal) return error;
  if (isCutOff(error, ctx)) return { status: 400, error: 'invalid_request' };
  if (
    error instanceof StoreUnavailable ||
    error instanceof PasswordQueueFull ||
    error instanceof ClientUnavailable
  ) {
    // A user who signs out must see that the session hasn't ended.
    const description = ctx.path.startsWith(ENDPOINTS.logout)
      ? "the service can't answer right now, so you may still be signed in: try again in a moment"
      : AWAY.description;
    return { ...AWAY, description, retryAfterSeconds: error.retryAfterSeconds };
  }
  // A user's data is sealed with an encryption key that isn't configured. The log names the key.
  if (error instanceof VaultError) return AWAY;
  if (error instanceof TooManyRequests) {
    return {
      status: 429,
      error: 'temporarily_unavailable',
      description: 'too many requests, wait before trying again',
      retryAfterSeconds: error.retryAfterSeconds,
    };
  }
  return { status: 500, error: 'server_error', description: 'something went wrong' };
}

/** The caller left before its body was read, or was too slow. A reset of the connection loses a complete body, too. */
const isCutOff = (error: unknown, { req }: Context) =>
  req.destroyed && (!req.complete || error === req.errored);

/** Decided by path for what we serve; by Accept for unknown paths and for limits. */
function isForUsers(ctx: Context): boolean {
  const wantsPage = ctx.accepts('json', 'html') === 'html';
  // Programs also reach limits on pages. Only a browser accepts HTML.
  if (isPagePath(ctx.path)) return ctx.status !== 429 || wantsPage;
  return ctx.status === 404 && wantsPage;
}

// THE MIDDLEWARE LIST: every request passes it from top to bottom.
import Koa, { type Middleware } from 'koa';
import { FACTORS_PATH } from '../config/endpoint-rows.ts';
import type { PageParts } from '../features/page-parts.ts';
import type { Host } from '../interaction/host.ts';
import { interactionRoutes } from '../interaction/routes.ts';
import { createCachedDocuments } from '../oidc/cached-documents.ts';
import { refuseForeignForms } from '../oidc/form-origin.ts';
import { seeOther } from '../oidc/send-page.ts';
import { unitOfWork } from '../oidc/unit-of-work.ts';
import { serveAssets } from './assets.ts';
import { createClientAddress } from './client-address.ts';
import { allowOrigins } from './cors.ts';
import { admitRequests, replaceUnreadable } from './edge.ts';
import { answerErrors } from './errors.ts';
import { sendFormsAsQuery } from './form-as-query.ts';
import { throwFrontErrors } from './front-errors.ts';
import { setSecurityHeaders } from './headers.ts';
import { showHome } from './home.ts';
import { setLanguage } from './language.ts';
import { limitAddresses } from './limit-addresses.ts';
import { refuseMalformed } from './malformed.ts';
import { observeRequests } from './observe-requests.ts';
import type { HandlerSource } from './server.ts';

export function createHandler(host: Host, features: readonly PageParts[]): HandlerSource {
  const { config, pages, limits } = host;
  const { issuer, trustedProxies } = config;
  const app = new Koa();
  // The engine reads cookies through the host's context too.
  app.keys = [...config.cookieKeys];
  app.silent = true;
  pinToIssuer(app, issuer);

  const documents = createCachedDocuments();
  const clientAddress = createClientAddress(trustedProxies);
  const [front] = features.flatMap((one) => one.front?.(host, documents) ?? []);

  app.use(replaceUnreadable);
  app.use(observeRequests(host));
  app.use(setSecurityHeaders(issuer));
  app.use(setLanguage(pages, issuer));
  app.use(answerErrors(pages, host));
  app.use(admitRequests(issuer, clientAddress));
  app.use(allowOrigins(config.cors.allowedOrigins));
  app.use(throwFrontErrors);
  app.use(limitAddresses(limits, host.tokens));
  app.use(refuseMalformed(issuer));
  app.use(documents.serve);
  app.use(serveAssets(host.assets));
  app.use(showHome(config, pages));
  app.use(sendFormsAsQuery(issuer));
  app.use(refuseForeignForms(issuer));
  app.use(unitOfWork(host));
  app.use(redirectFactors(issuer));
  app.use(below('/interaction/', interactionRoutes(host, features)));
  const sections = features.flatMap((one) => one.sections?.(host) ?? []);
  const routes = features.flatMap((one) => one.routes?.(host, sections) ?? []);
  for (const { path, handle } of routes) app.use(below(path, handle));
  app.use(host.handle);
  return { callback: () => front?.(app.callback()) ?? app.callback() };
}

/** From the path of earlier versions. */
function redirectFactors(issuer: string): Middleware {
  return (ctx, next) => (ctx.path === '/factors' ? seeOther(ctx, `${issuer}${FACTORS_PATH}`) : next());
}

/** Skips `middleware` for other paths, because a router tries all of its routes for each request. */
function below(prefix: string, middleware: Middleware): Middleware {
  return (ctx, next) => (ctx.path.startsWith(prefix) ? middleware(ctx, next) : next());
}

/** Makes every URL and the cookies' Secure follow the issuer, whatever a Host or X-Forwarded header says. */
function pinToIssuer(app: Koa, issuer: string): void {
  const { protocol, host } = new URL(issuer);
  Object.defineProperties(app.request, {
    protocol: { get: () => protocol.slice(0, -1) },
    host: { get: () => host },
  });
}

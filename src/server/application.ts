// One application with the middleware in front of it, built from a configuration, a key set and the views.
import { createHandler } from '../http/app.ts';
import type { Job } from '../oidc/job.ts';
import { callbacksOf, running } from '../features/running.ts';
import { createCsrf } from '../interaction/csrf.ts';
import type { Host } from '../interaction/host.ts';
import { createDeviceCookie } from '../interaction/trusted-browser-cookie.ts';
import { type ApplicationParts, openApp, type Process } from '../oidc/app.ts';
import { createBrowserSessions } from '../oidc/browser-session.ts';
import { createInteractions } from '../oidc/interactions.ts';
import { createInternalClient } from '../oidc/internal-client.ts';
import { createEngine } from '../oidc/provider.ts';
import { createUserEventDelivery, type OnUserEvent } from '../users/user-events.ts';

export type Application = Awaited<ReturnType<typeof createApplication>>;

/** Rejects when its engine fails the self-test. */
export async function createApplication(process: Process, given: ApplicationParts) {
  const config = withInternalClient(given.config);
  const loaded = await running(config);
  const [sessionEnds] = loaded.flatMap((one) => one.sessionEnds?.(config, process) ?? []);
  const app = openApp(process, { ...given, config, sessionEnds });
  const features = loaded.map(({ open }) => open(app));
  const engine = await createEngine(app, features);
  const { hash, issuer, ended } = engine;
  const host: Host = {
    ...engine,
    sessions: createBrowserSessions(engine),
    interactions: createInteractions(engine),
    csrf: createCsrf(hash),
    cookie: createDeviceCookie(issuer),
  };
  const management = features.flatMap((one) => one.management ?? []);
  const listeners = [engine.onUserEvent, ...features.flatMap(({ onUserEvent: listener = [] }) => listener)];
  const onUserEvent: OnUserEvent = async (event) => {
    for (const listener of listeners) await listener(event);
  };
  const jobs: readonly Job[] = [
    createUserEventDelivery({ ...engine, onUserEvent }),
    ...features.flatMap(({ job }) => job?.(engine.provider) ?? []),
  ];
  return { handler: createHandler(host, features), ended, jobs, management };
}

/** Adds the client with which the service's own pages start a sign-in, if there are such pages. */
function withInternalClient(config: ApplicationParts['config']): ApplicationParts['config'] {
  const callbacks = callbacksOf(config);
  if (callbacks.length === 0) return config;
  return { ...config, clients: [...config.clients, createInternalClient(config, callbacks)] };
}

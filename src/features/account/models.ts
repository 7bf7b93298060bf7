// What the account page shows of its own.
import * as z from 'zod';
import { SECURITY_EVENTS } from '../../config/security-events.ts';
import { ApiModel, ScopeModel, Text as text, Url as url } from '../../views/shared-models.ts';

/** A browser that the user is signed in with. */
export const SessionModel = z.object({
  /** For the form that ends it. */
  id: text,
  /** What it says that it is; empty where it says nothing known. */
  browser: text,
  /** The network of its address. */
  network: text,
  /** When the user signed in (epoch seconds). */
  at: z.number(),
  /** When an app last signed in with it (epoch seconds); absent for this browser, and for a session that was saved before this was kept. */
  usedAt: z.number().optional(),
  /** This one. */
  current: z.boolean(),
});

/** An app that the user allowed something. */
export const AllowedAppModel = z.object({
  /** For the form that withdraws it. */
  id: text,
  name: text,
  scopes: z.array(ScopeModel).readonly(),
  resources: z.array(ApiModel).readonly(),
});

/** Something that happened to the user's account. */
export const EventModel = z.object({
  what: z.enum(SECURITY_EVENTS),
  /** When (epoch seconds). */
  at: z.number(),
  browser: text,
  network: text,
  /** The name of the app, where it is about one. */
  app: text.optional(),
});

export const accountSections = {
  username: text,
  /** Full name and mail address, where they are known. */
  name: text.optional(),
  email: text.optional(),
  /** Names. */
  groups: z.array(text).readonly(),
  /** Who can change the password: the user here, the users who run the service, or nobody, as there is none. */
  password: z.enum(['here', 'operator', 'none']),
  /** Of a new password, at least. */
  minLength: z.number(),
  passwordAction: url,
  sessions: z.array(SessionModel).readonly(),
  endSessionAction: url,
  endOthersAction: url,
  signOutUrl: url,
  /** Those that the user may open. */
  apps: z.array(z.object({ name: text, uri: url, logoUri: url.optional() })).readonly(),
  allowed: z.array(AllowedAppModel).readonly(),
  withdrawAction: url,
  /** The newest first. */
  events: z.array(EventModel).readonly(),
  /** What was done a moment ago. */
  done: z.enum(['password_changed', 'session_ended', 'sessions_ended', 'app_withdrawn']).optional(),
};

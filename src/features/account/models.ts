// The models of the account page's own sections.
import * as z from 'zod';
import { SECURITY_EVENTS } from '../../config/security-events.ts';
import { ApiModel, ScopeModel, Text as text, Url as url } from '../../views/shared-models.ts';

/** A browser that the user is signed in with. */
export const SessionModel = z.object({
  /** Sent with the form that ends it. */
  id: text,
  /** Its browser and system, as it names them; empty if unknown. */
  browser: text,
  /** The network of its address. */
  network: text,
  /** When the user signed in (epoch seconds). */
  at: z.number(),
  /** When an app last signed in with it (epoch seconds); absent for this browser, and for a session saved by a version without it. */
  usedAt: z.number().optional(),
  /** Whether it is the session of this browser. */
  current: z.boolean(),
});

export const AllowedAppModel = z.object({
  /** Sent with the form that removes the access. */
  id: text,
  name: text,
  scopes: z.array(ScopeModel).readonly(),
  resources: z.array(ApiModel).readonly(),
});

export const EventModel = z.object({
  what: z.enum(SECURITY_EVENTS),
  /** Epoch seconds. */
  at: z.number(),
  browser: text,
  network: text,
  /** The name of the app, if the event is about one. */
  app: text.optional(),
});

export const accountSections = {
  username: text,
  /** Full name and email address, if they are known. */
  name: text.optional(),
  email: text.optional(),
  groups: z.array(text).readonly(),
  /** Who can change the password: the user, on this page; an administrator (operator); none: the user has no password. */
  password: z.enum(['here', 'operator', 'none']),
  minLength: z.number(),
  passwordAction: url,
  sessions: z.array(SessionModel).readonly(),
  endSessionAction: url,
  endOthersAction: url,
  signOutUrl: url,
  apps: z.array(z.object({ name: text, uri: url, logoUri: url.optional() })).readonly(),
  allowed: z.array(AllowedAppModel).readonly(),
  withdrawAction: url,
  /** The newest first. */
  events: z.array(EventModel).readonly(),
  done: z.enum(['password_changed', 'session_ended', 'sessions_ended', 'app_withdrawn']).optional(),
};

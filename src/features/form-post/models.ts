// The model of the page that passes the result of a sign-in to the app, in a form that assets/form-post.js sends.
import * as z from 'zod';
import { ClientModel, Text as text, Url as url } from '../../views/shared-models.ts';

export const formPostModel = z.object({
  client: ClientModel,
  /** The redirect URI of the app. */
  action: url,
  /** All are hidden fields: code or error, state and iss. */
  fields: z.array(z.object({ name: text, value: text })).readonly(),
});

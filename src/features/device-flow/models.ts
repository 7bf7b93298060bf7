// What the pages of the device flow (RFC 8628) are given.
import * as z from 'zod';
import { ApiModel, ClientModel, posted, ScopeModel, Text as text } from '../../views/shared-models.ts';

export const device = z.discriminatedUnion('outcome', [
  /** Asks for the code that a device shows; its field is called `user_code`. Sent with status 422 where there is an error. */
  z.object({
    outcome: z.literal('input'),
    ...posted,
    /** What was typed before. */
    userCode: text,
    /** Mistyped, used or too old: they look alike. */
    error: z.enum(['wrong']).optional(),
  }),
  /** Asks whether the device gets in: the form has `user_code`, and `confirm` or `abort`. */
  z.object({
    outcome: z.literal('confirm'),
    ...posted,
    client: ClientModel,
    /** To compare with what the device shows. */
    userCode: text,
    /** The user whom the device gets, where one is signed in in this browser. */
    username: text.optional(),
    /** What asked for the code, by its own words: "Firefox, Linux". Empty where that isn't known. */
    browser: text,
    /** The network that it asked from. */
    network: text,
    scopes: z.array(ScopeModel).readonly(),
    resources: z.array(ApiModel).readonly(),
  }),
  z.object({ outcome: z.literal('done'), client: ClientModel.optional() }),
  z.object({ outcome: z.literal('cancelled') }),
]);

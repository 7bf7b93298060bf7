// The models of the device flow's pages (RFC 8628).
import * as z from 'zod';
import { ApiModel, ClientModel, posted, ScopeModel, Text as text } from '../../views/shared-models.ts';

export const device = z.discriminatedUnion('outcome', [
  /** Asks for the code that a device shows; its field is called `user_code`. Sent with status 422 if there is an error. */
  z.object({
    outcome: z.literal('input'),
    ...posted,
    /** What was typed before. */
    userCode: text,
    /** The code is mistyped, used or expired: all get the same error. */
    error: z.enum(['wrong']).optional(),
  }),
  /** Asks the user to approve the device: the form has `user_code`, and `confirm` or `abort`. */
  z.object({
    outcome: z.literal('confirm'),
    ...posted,
    client: ClientModel,
    /** To compare with what the device shows. */
    userCode: text,
    /** The user whose access the device gets, if one is signed in in this browser. */
    username: text.optional(),
    /** What requested the code, as it names itself: "Firefox, Linux". Empty if that isn't known. */
    browser: text,
    /** The network of that request. */
    network: text,
    scopes: z.array(ScopeModel).readonly(),
    resources: z.array(ApiModel).readonly(),
  }),
  z.object({ outcome: z.literal('done'), client: ClientModel.optional() }),
  z.object({ outcome: z.literal('cancelled') }),
]);

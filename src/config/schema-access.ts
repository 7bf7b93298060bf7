// The schemas of who may do what: groups, rules that name them, and the claims of scopes.
import * as z from 'zod';
import { labelFault, text } from './text.ts';

/** Group: what it is. */
export const groupsSchema = z.record(z.string(), text(labelFault));

/** The users that a rule lets in. */
export const accessSchema = z.strictObject({
  groups: z
    .array(z.string())
    .min(1, 'must name at least one group')
    .describe('People in one of these groups; everybody else is refused. Default: everybody.'),
});

/** Scope: the claims that it gives, besides those of OpenID Connect. */
export const scopesSchema = z.record(
  z.string(),
  z.strictObject({
    claims: z.array(z.string()).describe('Custom claims that the scope gives.'),
    description: text(labelFault).optional().describe('What the scope is, for the consent page.'),
  }),
);

const simpleClaim = z.union([z.string(), z.number(), z.boolean()]);

export const customClaimSchema = z.union(
  [simpleClaim, z.array(simpleClaim)],
  'must be text, a number, true or false, or a list of those',
);

// Groups that decide who may use which app, API and scope. Off if no client and no API has such a rule.
import * as z from 'zod';
import type { Declaration } from '../feature.ts';

const groups = z
  .array(z.string())
  .min(1, 'must name at least one group')
  .describe('Users in at least one of these groups. All others are rejected. Default: all users.');
const rule = z.strictObject({ groups });

type OfClient = { readonly access?: object | undefined };
type OfApi = OfClient & { readonly scopeGroups: object };
type Rules = Readonly<{ clients: readonly OfClient[]; resources: readonly OfApi[] }>;

export const access = {
  name: 'access',
  client: {
    access: rule.optional().describe('Who can use this app. Default: all users.'),
  },
  resource: {
    access: rule.optional().describe('Who can get tokens for this API. Default: all users.'),
    scope_groups: z
      .record(z.string(), groups)
      .default({})
      .describe('Groups by scope: only their users can get it. Other scopes are for all users.'),
  },
  audit: ['access_denied'],
  isOn: ({ clients, resources }: Rules) =>
    clients.some((client) => client.access !== undefined) ||
    resources.some((api) => api.access !== undefined || Object.keys(api.scopeGroups).length > 0),
} as const satisfies Declaration;

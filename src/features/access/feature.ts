// Groups that decide who may use which app, API and scope. Off where no client and no API has such a rule.
import * as z from 'zod';
import type { Declaration } from '../feature.ts';

const groups = z
  .array(z.string())
  .min(1, 'must name at least one group')
  .describe('People in one of these groups; everybody else is refused. Default: everybody.');
const rule = z.strictObject({ groups });

type OfClient = { readonly access?: object | undefined };
type OfApi = OfClient & { readonly scopeGroups: object };

export const access = {
  name: 'access',
  client: {
    access: rule.optional().describe('Who may use this app. Absent: everybody who can sign in.'),
  },
  resource: {
    access: rule.optional().describe('Who may have tokens for this API. Absent: everybody.'),
    scope_groups: z
      .record(z.string(), groups)
      .default({})
      .describe('Scope: the groups whose people may have it. A scope that is not here is for everybody.'),
  },
  audit: ['access_denied'],
  isOn: ({
    clients,
    resources,
  }: {
    readonly clients: readonly OfClient[];
    readonly resources: readonly OfApi[];
  }) =>
    clients.some((client) => client.access !== undefined) ||
    resources.some((api) => api.access !== undefined || Object.keys(api.scopeGroups).length > 0),
} as const satisfies Declaration;

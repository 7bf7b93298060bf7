// Groups that decide who may use which app, API and scope. Off where no client and no API has such a rule.
import { accessSchema } from '../../config/schema-access.ts';
import * as z from 'zod';
import type { Declaration } from '../feature.ts';

type OfClient = { readonly access?: object | undefined };
type OfApi = OfClient & { readonly scopeGroups: object };

export const access = {
  name: 'access',
  client: {
    access: accessSchema.optional().describe('Who may use this app. Absent: everybody who can sign in.'),
  },
  resource: {
    access: accessSchema.optional().describe('Who may have tokens for this API. Absent: everybody.'),
    scope_groups: z
      .record(z.string(), accessSchema.shape.groups)
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

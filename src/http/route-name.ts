// What a request is called where it is counted and logged. A path that isn't ours has no name of its own: it may hold anything, also a
// token that somebody put in the wrong place.
import type { Context } from 'koa';
import { ENDPOINT_TABLE, findEndpoint } from '../config/endpoints.ts';

const UNKNOWN = 'unknown';

/** All route names. */
export const ROUTE_NAMES: readonly string[] = [
  ...new Set([...ENDPOINT_TABLE.map(({ name }) => name), UNKNOWN]),
];

/** After the edge has cut the issuer's own path off, and once the status is known. */
export const routeName = ({ path, status }: Pick<Context, 'path' | 'status'>): string =>
  (status === 404 ? undefined : findEndpoint(path)?.name) ?? UNKNOWN;

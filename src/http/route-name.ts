// The names of requests in metrics and logs. An unknown path has no name of its own, because it may contain anything, even a token in
// the wrong place.
import type { Context } from 'koa';
import { ENDPOINT_TABLE, findEndpoint } from '../config/endpoints.ts';

const UNKNOWN = 'unknown';

/** All route names. */
export const ROUTE_NAMES: readonly string[] = [
  ...new Set([...ENDPOINT_TABLE.map(({ name }) => name), UNKNOWN]),
];

/** Call it once the edge has removed the issuer's path and the status is known. */
export const routeName = ({ path, status }: Pick<Context, 'path' | 'status'>) =>
  (status === 404 ? undefined : findEndpoint(path)?.name) ?? UNKNOWN;

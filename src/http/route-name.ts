// What a request is called where it is counted and logged. A path that isn't ours has no name of its own: it may hold anything, also a
// token that somebody put in the wrong place.
import type { Context } from 'koa';
import { ENDPOINTS } from '../config/endpoints.ts';

const ROUTES: ReadonlyMap<string, string> = new Map(
  Object.entries(ENDPOINTS).map(([name, path]) => [path, name]),
);
const FOLDERS: readonly (readonly [prefix: string, route: string])[] = [
  ['/interaction/', 'interaction'],
  ['/assets/', 'assets'],
  [`${ENDPOINTS.authorization}/`, 'resume'],
  [`${ENDPOINTS.logout}/`, 'logout'],
];

/** After the edge has cut the issuer's own path off, and once the status is known. */
export function routeName({ path, status }: Pick<Context, 'path' | 'status'>): string {
  if (status === 404) return 'unknown';
  return ROUTES.get(path) ?? FOLDERS.find(([prefix]) => path.startsWith(prefix))?.[1] ?? 'unknown';
}

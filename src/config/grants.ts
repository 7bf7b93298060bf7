// The grants of the token endpoint, and those that users give apps.
import { list } from '../features/index.ts';
import type { UserGrant } from './endpoint-rows.ts';

const declared: readonly UserGrant[] = list('grants');

export const GRANT_TYPES: readonly string[] = [
  'authorization_code',
  'refresh_token',
  'client_credentials',
  ...declared.map(({ type }) => type),
];

export const USER_GRANTS: readonly UserGrant[] = [
  { type: 'authorization_code', begins: 'authorization', resumes: 'resume' },
  ...declared,
];

/** Finds a grant by the engine's route where an app requests it. */
export const grantBegunAt = (route: string): UserGrant | undefined =>
  USER_GRANTS.find(({ begins }) => begins === route);

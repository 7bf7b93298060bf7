// What may happen to the account of a user: by them, by someone who seems to be them, or by an administrator.

/** Users are notified of these. */
export const NOTICED = [
  'password_changed',
  'factor_added',
  'authenticator_replaced',
  'factor_removed',
  'recovery_code_used',
  'recovery_codes_made',
  'codes_failed',
  'passwords_failed',
  'address_changed',
] as const;

/** Users find these in their activity. */
export const SECURITY_EVENTS = [
  ...NOTICED,
  'signed_in',
  'session_ended',
  'sessions_ended',
  'app_withdrawn',
] as const;

// The security events of an account, caused by the user, by a possible attacker, or by an administrator.

/** Events that users are notified of. */
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

/** Events that users find in their activity. */
export const SECURITY_EVENTS = [
  ...NOTICED,
  'signed_in',
  'session_ended',
  'sessions_ended',
  'app_withdrawn',
] as const;

// The grant type of a device that users let in elsewhere (RFC 8628).

/** RFC 8628 §3.4. */
export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

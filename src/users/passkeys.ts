// Passkeys and security keys (WebAuthn Level 3): what the browser is asked, and whether its answer is right.

/** At the first passkey, not at the start: it takes 25 MB of memory, and adds to the global Reflect. */
export const loadWebAuthn = async () => import('@simplewebauthn/server');

// When an ID token is too long for the headers that proxies pass.

const MAX_ID_TOKEN = 8 * 1024;
/** Of its signature, its header and what is no claim of the person. */
const REST_OF_ID_TOKEN = 1024;

/** Whether it would be with these claims of the person. */
export function isTooLong(claims: Readonly<Record<string, unknown>>): boolean {
  // Base64 makes four bytes of three.
  return (Buffer.byteLength(JSON.stringify(claims)) * 4) / 3 + REST_OF_ID_TOKEN > MAX_ID_TOKEN;
}

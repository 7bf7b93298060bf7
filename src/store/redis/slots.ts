// Which slot of a Cluster a key is in: ioredis, which knows it too, does not say.

const SLOTS = 16_384;
/** CRC-16/XMODEM, a byte at a time. */
const TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
  return crc;
});

/** Of the text between the first `{` and the next `}` if there is any, else of the whole key. */
export function slotOf(key: string): number {
  const open = key.indexOf('{');
  const close = open === -1 ? -1 : key.indexOf('}', open + 1);
  const hashed = close > open + 1 ? key.slice(open + 1, close) : key;
  let crc = 0;
  for (const byte of Buffer.from(hashed)) crc = ((crc << 8) ^ (TABLE[(crc >> 8) ^ byte] ?? 0)) & 0xffff;
  return crc % SLOTS;
}

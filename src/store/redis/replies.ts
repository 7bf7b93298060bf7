// What scripts answer, checked: their replies have no type, and one that is not as expected must not pass for an answer.

/** What ioredis calls an answer that is an error. */
export const REPLY_ERROR = 'ReplyError';

export function toNumber(reply: unknown): number {
  if (typeof reply !== 'number') throw unexpected(reply);
  return reply;
}

export function toNumbers(reply: unknown): readonly [number, number] {
  if (!Array.isArray(reply)) throw unexpected(reply);
  const [first, second]: unknown[] = reply;
  if (typeof first !== 'number' || typeof second !== 'number') throw unexpected(reply);
  return [first, second];
}

export function toTexts(reply: unknown): readonly string[] {
  if (!Array.isArray(reply)) throw unexpected(reply);
  return reply.map((item: unknown) => {
    if (typeof item !== 'string') throw unexpected(reply);
    return item;
  });
}

/** 1 or 0. */
export function toBoolean(reply: unknown): boolean {
  if (reply !== 0 && reply !== 1) throw unexpected(reply);
  return reply === 1;
}

function unexpected(reply: unknown): Error {
  return new Error(`Redis answered with an unexpected ${Array.isArray(reply) ? 'array' : typeof reply}`);
}

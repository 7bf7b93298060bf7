// What must be atomic in Redis, as Lua: each script touches one slot and runs alone. Times come in as milliseconds of
// the caller's clock, because expiry by Redis' own clock is only the cleaning. Knows no connection.

/** Replaces a record. What was consumed stays consumed while it lives. A record is a hash: p, e, c, g, a. */
const saveRecord = `
local now, payload, ends, ttl, grant, alias = unpack(ARGV)
local old = redis.call('HMGET', KEYS[1], 'e', 'c')
redis.call('HSET', KEYS[1], 'p', payload, 'e', ends, 'g', grant, 'a', alias)
if old[2] and tonumber(old[1]) <= tonumber(now) then redis.call('HDEL', KEYS[1], 'c') end
redis.call('PEXPIRE', KEYS[1], ttl)
return 1`;

/**
 * The only lock: 0 gone, 1 won, 2 lost. The caller has made sure that the grant it knows of is alive; a record that moved to
 * another one meanwhile is gone. HSET on a key that exists keeps its time to live.
 */
const consumeRecord = `
local now, at, grant = unpack(ARGV)
local row = redis.call('HMGET', KEYS[1], 'e', 'c', 'g')
if not row[1] or tonumber(row[1]) <= tonumber(now) or row[3] ~= grant then return 0 end
if row[2] then return 2 end
redis.call('HSET', KEYS[1], 'c', at)
return 1`;

/** Deletes a record, with a grant only if it still belongs to it, and says what pointed to it: grant, alias; else nothing. */
const dropRecord = `
local row = redis.call('HMGET', KEYS[1], 'g', 'a')
if not row[1] or (ARGV[1] ~= '' and row[1] ~= ARGV[1]) then return {} end
redis.call('UNLINK', KEYS[1])
return row`;

/** Deletes an alias that still points to this record. */
const dropAlias = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
return 0`;

/** Adds to a grant's index unless the grant is dead. Forgets members that ended; the index ends with its last one. */
const indexRecord = `
local now, ends, id = unpack(ARGV)
local dead = redis.call('GET', KEYS[2])
if dead and tonumber(dead) > tonumber(now) then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], ends, id)
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', tonumber(last[2]) - tonumber(now)))
return 1`;

/** Writes the tombstone, never a shorter one, and says who is to be deleted. */
const buryGrant = `
local ends, ttl = unpack(ARGV)
local dead = redis.call('GET', KEYS[2])
if not dead or tonumber(dead) < tonumber(ends) then redis.call('SET', KEYS[2], ends, 'PX', ttl) end
return redis.call('ZRANGE', KEYS[1], 0, -1)`;

/** Compare-and-set of one field, stored as 'version value'. */
const putDocument = `
local id, value, expected = unpack(ARGV)
local old = redis.call('HGET', KEYS[1], id)
local version = old and tonumber(string.match(old, '^%d+')) or 0
if version ~= tonumber(expected) then return 0 end
redis.call('HSET', KEYS[1], id, (version + 1) .. ' ' .. value)
return 1`;

const removeDocument = `
local id, expected = unpack(ARGV)
local old = redis.call('HGET', KEYS[1], id)
if not old or tonumber(string.match(old, '^%d+')) ~= tonumber(expected) then return 0 end
return redis.call('HDEL', KEYS[1], id)`;

/** A counter is a hash: n, e. Giving back after the window ended must not open the next one. */
const incrementCounter = `
local now, by, ends, window = unpack(ARGV)
local row = redis.call('HMGET', KEYS[1], 'n', 'e')
local isOpen = row[2] and tonumber(row[2]) > tonumber(now)
if not isOpen and tonumber(by) <= 0 then return {0, 0} end
local count = math.max(0, (isOpen and tonumber(row[1]) or 0) + tonumber(by))
if isOpen then
  redis.call('HSET', KEYS[1], 'n', string.format('%.0f', count))
  return {count, tonumber(row[2]) - tonumber(now)}
end
redis.call('HSET', KEYS[1], 'n', string.format('%.0f', count), 'e', ends)
redis.call('PEXPIRE', KEYS[1], window)
return {count, tonumber(window)}`;

const setCounter = `
local count, ends, window = unpack(ARGV)
redis.call('HSET', KEYS[1], 'n', count, 'e', ends)
redis.call('PEXPIRE', KEYS[1], window)
return 1`;

/** Registered on the connection under these names; the second of a pair of keys is in the slot of the first. */
export const SCRIPTS = {
  saveRecord: { lua: saveRecord, numberOfKeys: 1 },
  consumeRecord: { lua: consumeRecord, numberOfKeys: 1 },
  dropRecord: { lua: dropRecord, numberOfKeys: 1 },
  dropAlias: { lua: dropAlias, numberOfKeys: 1 },
  indexRecord: { lua: indexRecord, numberOfKeys: 2 },
  buryGrant: { lua: buryGrant, numberOfKeys: 2 },
  putDocument: { lua: putDocument, numberOfKeys: 1 },
  removeDocument: { lua: removeDocument, numberOfKeys: 1 },
  incrementCounter: { lua: incrementCounter, numberOfKeys: 1 },
  setCounter: { lua: setCounter, numberOfKeys: 1 },
} as const;

export type ScriptName = keyof typeof SCRIPTS;

// The atomic operations in Redis, as Lua scripts. Each touches one slot and runs alone. Times are milliseconds of the
// caller's clock, because expiry by Redis' own clock only cleans up. A time that isn't a number has passed; a tombstone
// without one stays.

/** ioredis adds a method for each script, by its name. The second of two keys is in the slot of the first. */
export const SCRIPTS = {
  /**
   * Replaces a record. Returns 1, or 0 if it was consumed, which it stays until it expires. A record is a hash: p payload, e end,
   * c consumed, g grant, a alias, and u while the replicas haven't confirmed a revocation: s saved, d destroyed.
   */
  saveRecord: `
local now, payload, ends, ttl, grant, alias, pending, consumed = unpack(ARGV)
local old = redis.call('HMGET', KEYS[1], 'e', 'c')
redis.call('HSET', KEYS[1], 'p', payload, 'e', ends, 'g', grant, 'a', alias, 'u', pending)
local ended = old[2] and (tonumber(old[1]) or 0) > tonumber(now)
if old[2] and not ended then redis.call('HDEL', KEYS[1], 'c') end
if consumed ~= '' then redis.call('HSETNX', KEYS[1], 'c', consumed) end
redis.call('PEXPIRE', KEYS[1], ttl)
return ended and 0 or 1`,

  /**
   * The only lock. Returns 0 gone, 1 won, 2 lost. The caller has checked that the grant is live; a record that has moved to
   * another grant meanwhile is gone. HSET on an existing key keeps its time to live.
   */
  consumeRecord: `
local now, at, grant = unpack(ARGV)
local row = redis.call('HMGET', KEYS[1], 'e', 'c', 'g')
if not row[1] or (tonumber(row[1]) or 0) <= tonumber(now) or row[3] ~= grant then return 0 end
if row[2] then return 2 end
redis.call('HSET', KEYS[1], 'c', at)
return 1`,

  /**
   * Deletes a record; given a grant, only if it still belongs to that. Returns its grant, alias and mark, or nothing. Given a mark, it
   * stays as an empty row until settleRecord: a read must not take the deletion as confirmed.
   */
  dropRecord: `
local grant, pending = unpack(ARGV)
local row = redis.call('HMGET', KEYS[1], 'g', 'a', 'u')
if not row[1] or (grant ~= '' and row[1] ~= grant) then return {} end
row[3] = row[3] or ''
if pending == '' then
  redis.call('UNLINK', KEYS[1])
else
  redis.call('HDEL', KEYS[1], 'p')
  redis.call('HSET', KEYS[1], 'e', 0, 'u', pending)
end
return row`,

  /** Rewrites a field unchanged, so that WAIT can wait for the replicas. */
  touch: `
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then redis.call('HSET', KEYS[1], ARGV[1], value) end
return 1`,

  /** Clears the mark, once the replicas have the record. */
  settleRecord: `
local pending = redis.call('HGET', KEYS[1], 'u')
if pending == 'd' then redis.call('UNLINK', KEYS[1])
elseif pending == 's' then redis.call('HSET', KEYS[1], 'u', '') end
return 1`,

  /** Points an alias to a record that already has it or follows the record that has it, or if no record has it. */
  takeAlias: `
local key, follows, ttl = unpack(ARGV)
local holder = redis.call('GET', KEYS[1]) or ''
if holder ~= key and holder ~= follows then return 0 end
redis.call('SET', KEYS[1], key, 'PX', ttl)
return 1`,

  /** Deletes an alias that still points to this record. */
  dropAlias: `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('UNLINK', KEYS[1]) end
return 0`,

  /** Adds to a grant's index unless the grant is revoked. Removes expired members; the index expires with its last one. */
  indexRecord: `
local now, ends, id = unpack(ARGV)
local dead = redis.call('GET', KEYS[2])
if dead and (tonumber(string.match(dead, '%d+')) or math.huge) > tonumber(now) then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], ends, id)
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', tonumber(last[2]) - tonumber(now)))
return 1`,

  /**
   * Writes the tombstone, never a shorter one. Returns the records to delete. '?' before its end: the replicas haven't confirmed
   * it. A pending one is written again, so that WAIT can wait for the replicas.
   */
  buryGrant: `
local ends, ttl, pending = unpack(ARGV)
local dead = redis.call('GET', KEYS[2])
local known = dead and (tonumber(string.match(dead, '%d+')) or math.huge) or 0
if known < tonumber(ends) then
  redis.call('SET', KEYS[2], pending .. ends, 'PX', ttl)
elseif string.sub(dead, 1, 1) == '?' then
  redis.call('SET', KEYS[2], dead, 'KEEPTTL')
end
return redis.call('ZRANGE', KEYS[1], 0, -1)`,

  settleGrant: `
local dead = redis.call('GET', KEYS[1])
if dead and string.sub(dead, 1, 1) == '?' then redis.call('SET', KEYS[1], string.sub(dead, 2), 'KEEPTTL') end
return 1`,

  /** Compare-and-set of fields, stored as 'version value': all of them or none. Arguments: id, value and expected version of each. */
  putDocuments: `
for i = 1, #ARGV, 3 do
  local old = redis.call('HGET', KEYS[1], ARGV[i])
  local version = old and tonumber(string.match(old, '^%d+')) or 0
  if version ~= tonumber(ARGV[i + 2]) then return 0 end
end
for i = 1, #ARGV, 3 do
  redis.call('HSET', KEYS[1], ARGV[i], (tonumber(ARGV[i + 2]) + 1) .. ' ' .. ARGV[i + 1])
end
return 1`,

  /** Adds a document with the version that it had in another store, unless it exists. */
  importDocument: `
local id, value, version = unpack(ARGV)
return redis.call('HSETNX', KEYS[1], id, version .. ' ' .. value)`,

  removeDocument: `
local id, expected = unpack(ARGV)
local old = redis.call('HGET', KEYS[1], id)
if not old or (tonumber(string.match(old, '^%d+')) or 0) ~= tonumber(expected) then return 0 end
return redis.call('HDEL', KEYS[1], id)`,

  /** A counter is a hash: n count, e end. A decrement after the window ended must not open a new one. */
  incrementCounter: `
local now, by, ends, window, renew = unpack(ARGV)
local row = redis.call('HMGET', KEYS[1], 'n', 'e')
local isOpen = (tonumber(row[2]) or 0) > tonumber(now)
if not isOpen and tonumber(by) <= 0 then return {0, 0} end
local count = math.max(0, (isOpen and tonumber(row[1]) or 0) + tonumber(by))
if isOpen and renew ~= '1' then
  redis.call('HSET', KEYS[1], 'n', string.format('%.0f', count))
  return {count, tonumber(row[2]) - tonumber(now)}
end
redis.call('HSET', KEYS[1], 'n', string.format('%.0f', count), 'e', ends)
redis.call('PEXPIRE', KEYS[1], window)
return {count, tonumber(window)}`,
};

export type ScriptName = keyof typeof SCRIPTS;

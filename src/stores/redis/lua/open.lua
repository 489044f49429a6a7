-- Opens a session: { session, candidate, ttl, beat }. The same opening again changes nothing, and extends nothing.
local id = asked.session
local found, isKnown = living(id)
if isKnown and not found then
  bury(id)
  return cjson.encode({ kind = 'session-lost' })
end
if found and asked.beat and found.beat ~= asked.beat then return cjson.encode({ kind = 'session-lost' }) end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and info or ''
if not found then
  redis.call('HSET', sessionKey(id), 'candidate', asked.candidate, 'ttl', whole(asked.ttl), 'until', whole(now + asked.ttl))
  if asked.beat then redis.call('HSET', sessionKey(id), 'beat', asked.beat) end
  redis.call('PEXPIRE', sessionKey(id), asked.ttl + REMEMBER_SESSION_MS)
  found = { candidate = asked.candidate, ttl = asked.ttl, beat = asked.beat }
end
return cjson.encode({ kind = 'kept', candidate = found.candidate, ttl = found.ttl, beat = asked.beat and found.beat,
  redis = string.match(server, 'redis_version:(%S+)'), valkey = string.match(server, 'valkey_version:(%S+)') })

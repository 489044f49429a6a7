-- Opens a session. ARGV: JSON of { session, candidate, ttl, beat }. The same opening again changes nothing, and extends nothing.
local asked = cjson.decode(ARGV[1])
local session = sessionOf(asked.session)
if session.isKnown and not session.lives then
  bury(session)
  return cjson.encode({ kind = 'session-lost' })
end
if session.isKnown and asked.beat and redis.call('HGET', session.key, 'beat') ~= asked.beat then
  return cjson.encode({ kind = 'session-lost' })
end
local info = redis.pcall('INFO', 'server')
local server = type(info) == 'string' and info or ''
if not session.isKnown then
  session.candidate, session.ttl = asked.candidate, asked.ttl
  redis.call('HSET', session.key, 'candidate', asked.candidate, 'ttl', whole(asked.ttl), 'until', whole(now + asked.ttl), 'ended', '')
  if asked.beat then redis.call('HSET', session.key, 'beat', asked.beat) end
  redis.call('PEXPIRE', session.key, whole(asked.ttl + REMEMBER_SESSION_MS))
end
return cjson.encode({ kind = 'kept', candidate = session.candidate, ttl = session.ttl, beat = asked.beat,
  redis = string.match(server, 'redis_version:(%S+)'), valkey = string.match(server, 'valkey_version:(%S+)') })

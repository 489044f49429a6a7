-- Sessions, by the clock of this server.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

local function whole(number) return string.format('%.0f', number) end

-- What is known of a session, whether it lives or not. It is read once in a script, and nothing that a script writes makes it live or not by what was read of it: `now` stands still, a session
-- that lives is only extended (in the same table), and only one that does not live is buried.
local sessions = {}
local function sessionOf(id)
  if sessions[id] then return sessions[id] end
  local key = prefix .. ':session:' .. id
  local record = redis.pcall('HMGET', key, 'ttl', 'until', 'ended', 'candidate')
  if record.err then checkType(record) end
  local ttl, ends = tonumber(record[1]), tonumber(record[2])
  if record.err or record[1] and not (ttl and ends) then error('CONCLAVE-FOREIGN ' .. key) end
  local isEnded = record[3] and record[3] ~= ''
  sessions[id] = {
    id = id, key = key, ttl = ttl, ends = ends, candidate = record[4] or '', isKnown = ttl, isEnded = isEnded, lives = ttl and not isEnded and now < ends,
  }
  return sessions[id]
end

-- What is over stays over, also if the clock is set back.
local function bury(session)
  redis.call('PEXPIRE', session.key, REMEMBER_SESSION_MS)
  redis.call('HSET', session.key, 'ended', '1')
end

-- From now on for its ttl. Nothing that only makes a key last is refused for want of memory, nor is what follows it.
local function extendSession(session)
  session.ends = now + session.ttl
  redis.call('PEXPIRE', session.key, whole(session.ttl + REMEMBER_SESSION_MS))
  redis.call('HSET', session.key, 'until', whole(session.ends))
end

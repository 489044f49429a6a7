-- What every script of `redis:` begins with. KEYS[1] is the prefix of our own keys; KEYS[1 + i] is the seat of the i-th name of the request, in the layout at
-- hand. ARGV[1] is the request, ARGV[2] the layout's own word ("ours" or "redlock"). The answer is a text of JSON.
--
--   PREFIX:session:ID   hash: candidate, ttl, until (milliseconds of this server's wall clock), beat, ended
--   PREFIX:holds:ID     hash: name -> bid, newline, key of the seat
--   the seat, ours      hash at PREFIX:seat:NAME: session, bid, value; after a release these are empty, and was (the bid) and at are set. With a session, was and at are of before, and mean nothing
--   the seat, redlock   a text with an expiry at the name itself; after a release a hash at PREFIX:was:NAME: was, at
--
-- INVARIANT  a session lives while now < until and nobody has ended it. `ended` is never taken back, so that a clock that is set back revives nobody
-- INVARIANT  a seat is held only while its session lives: ours points to it, and in the layout redlock the text expires when the session does
-- INVARIANT  everything that can fail is read before the first write: a script that stops in the middle is not taken back by the server
local prefix = KEYS[1]
local asked = cjson.decode(ARGV[1])
local isOurs = ARGV[2] == 'ours'
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- How long the end of a session is remembered, so that what is still on its way does not open it again.
local REMEMBER_SESSION_MS = 3600000
-- How long the last bid of a seat is remembered: a late copy of its claim is then not granted once more. A text, because the server takes longer to read a number of Lua.
local REMEMBER_SEAT_MS = '60000'

local function whole(number) return string.format('%.0f', number) end
-- A seat of ours goes away by itself long after its session; every keep that carries it moves that on.
local function seatLifeMs(holder)
  holder.seatLife = holder.seatLife or whole(4 * holder.ttl + REMEMBER_SESSION_MS)
  return holder.seatLife
end
local function sessionKey(id) return prefix .. ':session:' .. id end
local function holdsKey(id) return prefix .. ':holds:' .. id end
local function wasKey(name) return prefix .. ':was:' .. name end

-- A reply, or nil and what stands there instead. Other errors (a missing right) end the script, before anything was written.
local function readOf(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return reply end
  if string.find(reply.err, 'WRONGTYPE') then return nil end
  error(reply.err)
end

-- The session if it lives; whether there is a record of it at all; whether somebody has ended it.
local function readSession(id)
  local record = readOf('HMGET', sessionKey(id), 'ttl', 'until', 'candidate', 'beat', 'ended')
  if not record then error('CONCLAVE-FOREIGN ' .. sessionKey(id)) end
  if not record[1] then return nil, false, false end
  local ttl, ends = tonumber(record[1]), tonumber(record[2])
  if not ttl or not ends then error('CONCLAVE-FOREIGN ' .. sessionKey(id)) end
  if record[5] or now >= ends then return nil, true, record[5] and true end
  return { id = id, ttl = ttl, ends = ends, candidate = record[3] or '', beat = record[4] or nil }, true
end

-- Each session is read once in a script. Nothing that a script writes makes a session live or not by what it has read of it: `now` stands still, a session that lives is
-- only extended (in the same table), and only one that does not live is buried.
local sessions = {}
local function living(id)
  local read = sessions[id]
  if not read then
    read = { readSession(id) }
    sessions[id] = read
  end
  return read[1], read[2], read[3]
end

-- What is over stays over, also if the clock is set back.
local function bury(id)
  redis.call('PEXPIRE', sessionKey(id), REMEMBER_SESSION_MS)
  redis.call('HSET', sessionKey(id), 'ended', '1')
end

-- From now on for its ttl. Nothing that only makes a key last is refused for want of memory, nor is what follows it.
local function extendSession(holder)
  holder.ends = now + holder.ttl
  redis.call('PEXPIRE', sessionKey(holder.id), holder.ttl + REMEMBER_SESSION_MS)
  redis.call('PEXPIRE', holdsKey(holder.id), holder.ttl + REMEMBER_SESSION_MS)
  redis.call('HSET', sessionKey(holder.id), 'until', whole(holder.ends))
end

-- This server may have forgotten what it granted before it was started, so it grants nothing before every lease of that time has run out. By its wall clock.
-- What it calls its uptime is the difference of two times, each cut to whole seconds, so that it may be a second too much: one second less has certainly passed.
local function isTooYoung()
  if not asked.uptime then return false end
  local seconds = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
  return (tonumber(seconds) - 1) * 1000 < asked.uptime
end

local function vacant(was, at)
  return { state = 'vacant', version = was and ('-' .. was .. '@' .. (at or '')) or '-', was = was or nil }
end

local function held(holder, bid, value)
  return {
    state = 'held', version = bid .. '@' .. whole(holder.ends), session = holder.id, bid = bid, value = value or '',
    candidate = holder.candidate, ttl = holder.ttl, left = holder.ends - now,
  }
end

local function ourSeat(key)
  local record = readOf('HMGET', key, 'session', 'bid', 'value', 'was', 'at')
  if not record then return { state = 'foreign', key = key } end
  local session, bid, value, was, at = record[1], record[2], record[3], record[4], record[5]
  if bid and session and session ~= '' then
    local holder = living(session)
    if holder then return held(holder, bid, value) end
    return { state = 'vacant', version = '?' .. bid, was = bid, dead = session }
  end
  if not was and redis.call('EXISTS', key) == 1 then return { state = 'foreign', key = key } end
  return vacant(was, at)
end

-- What another client of Redlock has put there is shown as far as it can be printed.
local function strangersSeat(text, left)
  local shown = string.match(text, '^[%w%p]+$') and string.sub(text, 1, 64) or redis.sha1hex(text)
  return { state = 'held', version = 'stranger ' .. redis.sha1hex(text), left = left,
    candidate = 'a client that is not conclave (' .. shown .. ')', value = '' }
end

local function redlockSeat(key, name)
  local text = readOf('GET', key)
  if text == nil then return { state = 'foreign', key = key } end
  if not text then
    local record = readOf('HMGET', wasKey(name), 'was', 'at')
    if not record then return { state = 'foreign', key = wasKey(name) } end
    return vacant(record[1], record[2])
  end
  local left = redis.call('PTTL', key)
  if left < 0 then return { state = 'foreign', key = key } end -- a lock expires; this is somebody's data
  local isJson, mine = pcall(cjson.decode, text)
  if not isJson or type(mine) ~= 'table' or mine.conclave ~= 1 then return strangersSeat(text, left) end
  local holder = living(mine.session)
  return { state = 'held', version = mine.bid .. '@' .. (holder and whole(holder.ends) or 'over'), session = mine.session, bid = mine.bid,
    value = mine.value, candidate = mine.candidate, ttl = mine.ttl, left = left }
end

local function seatAt(key, name)
  if isOurs then return ourSeat(key) end
  return redlockSeat(key, name)
end

-- Held, or left behind by its own dead session.
local function isOf(seat, session, bid)
  if seat.dead then return seat.dead == session and seat.was == bid end
  return seat.state == 'held' and seat.session == session and seat.bid == bid
end

-- A hint. A user without the right to publish has none; waiters look by themselves.
local function tell(name, word) redis.pcall('PUBLISH', prefix .. ':told:' .. name, word) end

local function seatText(holder, bid, value)
  return cjson.encode({ conclave = 1, session = holder.id, bid = bid, value = value, candidate = holder.candidate, ttl = holder.ttl })
end

-- What is new comes first: where memory is full the server refuses it, as long as the script has written nothing.
local function occupy(key, name, holder, bid, value)
  if isOurs then
    redis.call('HSET', key, 'session', holder.id, 'bid', bid, 'value', value)
    redis.call('PEXPIRE', key, seatLifeMs(holder))
  else
    redis.call('SET', key, seatText(holder, bid, value), 'PX', whole(holder.ends - now))
    redis.call('DEL', wasKey(name))
  end
  redis.call('HSET', holdsKey(holder.id), name, bid .. '\n' .. key)
  if not holder.hasList then redis.call('PEXPIRE', holdsKey(holder.id), whole(holder.ttl + REMEMBER_SESSION_MS)) end
  holder.hasList = true -- its list lasts, as of this script
  tell(name, 'held')
end

-- What only shortens the life of a key, or frees memory, is never refused for want of it, nor is what follows it: so that comes first.
local function vacate(key, name, session, bid)
  local at = time[1] .. '.' .. time[2]
  if isOurs then
    redis.call('PEXPIRE', key, REMEMBER_SEAT_MS)
    redis.call('HSET', key, 'session', '', 'bid', '', 'value', '', 'was', bid, 'at', at)
  else
    redis.call('DEL', key)
    redis.call('HSET', wasKey(name), 'was', bid, 'at', at)
    redis.call('PEXPIRE', wasKey(name), REMEMBER_SEAT_MS)
  end
  redis.call('HDEL', holdsKey(session), name)
  tell(name, 'vacant')
end

-- All that a session has, as { name, bid, key }.
local function holdsOf(session)
  local flat = redis.call('HGETALL', holdsKey(session))
  local holds = {}
  for index = 1, #flat, 2 do
    local bid, key = string.match(flat[index + 1], '^(.-)\n(.*)$')
    holds[#holds + 1] = { name = flat[index], bid = bid, key = key }
  end
  return holds
end

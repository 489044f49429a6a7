-- What the seats of both layouts have in common. The piece of the layout follows.

-- This server may have forgotten what it granted before it was started, so it grants nothing before every lease of that time has run out. By its wall clock.
-- What it calls its uptime is the difference of two times, each cut to whole seconds, so that it may be a second too much: one second less has certainly passed.
local function isTooYoung(uptime)
  if not uptime then return false end
  local seconds = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
  return (tonumber(seconds) - 1) * 1000 < uptime
end

-- What stands there is not ours. `reply`: the error of the server that says so.
local function foreign(key, reply)
  if reply then checkType(reply) end
  return { state = 'foreign', key = key }
end

local function vacant(was)
  return { state = 'vacant', version = '-' .. (was or ''), was = was }
end

local function heldText(session, bid, value)
  return headOf(session.id, bid) .. session.ttl .. ' ' .. #session.candidate .. '\n' .. session.candidate .. value
end

-- nil: the text is not one of ours.
local function readHeld(text)
  local session, bid, ttl, length, rest = string.match(text, '^conclave\n([^\n]*)\n([^\n]*)\n(%d+) (%d+)\n(.*)$')
  if not session then return nil end
  local candidate, value = string.sub(rest, 1, length), string.sub(rest, length + 1)
  return { state = 'held', session = session, bid = bid, ttl = tonumber(ttl), candidate = candidate, value = value }
end

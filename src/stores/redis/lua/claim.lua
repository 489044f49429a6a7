-- ARGV: the uptime and the votes (each may be empty), and for each claim session (empty: that of the claim before), bid, over, value. Each is answered for itself, in order:
-- { kind = "claimed", answers }, or shorter, where all are granted: { kind = "granted" }.
--
-- votes = 1: this server is one of several, and what the majority of them grants counts from this claim on, also here if the last renewal has not reached this server. So the session
-- is extended with it.
-- uptime: this server may have forgotten what it granted before it was started, so it grants nothing before every lease of that time has run out: for so many
-- milliseconds. It is counted by the server's wall clock.
local uptime, votes = tonumber(ARGV[1]), ARGV[2] == '1'

-- All is read before the first is written, because one of several may fail.
local claimants, seats = {}, {}
local id
for index = 2, #KEYS do
  local key, at = KEYS[index], 4 * index - 5
  if ARGV[at] ~= '' then id = ARGV[at] end
  claimants[index] = sessionOf(id)
  seats[key] = seats[key] or seatAt(key)
end

-- Each seat is read once, and again only if this script has written it: a second claim of one name must find the first one there.
local function take(key, session, bid, value)
  seats[key] = nil
  occupy(key, session, bid, value)
end

local function mayTake(seat, session, bid, over)
  if seat.state == 'held' then -- a new term of the very session that holds it; never anybody else's
    return seat.session == session.id and over == seat.version
  end
  if over == 'vacant' then return seat.was ~= bid end
  return over == seat.version
end

local GRANTED = { kind = 'granted' }
local function answer(index)
  local key, at, session = KEYS[index], 4 * index - 5, claimants[index]
  local bid, over, value = ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if not session.lives then return { kind = 'session-lost' } end
  local seat = seats[key] or seatAt(key)
  if seat.state == 'foreign' then return { kind = 'foreign', key = seat.key } end
  if seat.state == 'held' and seat.session == session.id and seat.bid == bid then
    if seat.value ~= value then take(key, session, bid, value) end
    return GRANTED
  end
  if not mayTake(seat, session, bid, over) then return { kind = 'beaten', seat = seat } end
  if isTooYoung(uptime) then return { kind = 'restarted' } end
  if votes then session.ends = now + session.ttl end
  take(key, session, bid, value)
  if votes then extendSession(session) end
  if seat.dead then
    local dead = sessionOf(seat.dead)
    if dead.isKnown and not votes then bury(dead) end
    redis.call('HDEL', dead.key, 'hold:' .. nameOf(key))
  end
  return GRANTED
end

local answers, areGranted = {}, true
for index = 2, #KEYS do
  local each = answer(index)
  answers[index - 1] = each
  areGranted = areGranted and each == GRANTED
end
if areGranted then return '{"kind":"granted"}' end
return cjson.encode({ kind = 'claimed', answers = answers })

-- { claims = { { session, name, bid, over, value }, … }, uptime, votes }. Each is answered for itself, in order.
--
-- `votes`: this server is one of several, and what the majority of them grants counts from this claim on, also here if the last renewal has not reached this server. So the session
-- is extended with it.
-- `uptime`: this server may have forgotten what it granted before it was started, so it grants nothing before every lease of that time has run out: for so many
-- milliseconds. It is counted by the server's wall clock.
local function mayTake(seat, claim)
  if seat.state == 'held' then -- a new term of the very session that holds it; never anybody else's
    return seat.session == claim.session and claim.over == seat.version
  end
  if claim.over == 'vacant' then return seat.was ~= claim.bid end
  return claim.over == seat.version
end

-- Each seat is read once, and again only if this script has written it: a second claim of one name must find the first one there.
local seats = {}
local function found(key, name)
  seats[key] = seats[key] or seatAt(key, name)
  return seats[key]
end
local function take(key, claim, holder)
  seats[key] = nil
  occupy(key, claim.name, holder, claim.bid, claim.value)
end

local function answer(index, claim)
  local holder = living(claim.session)
  if not holder then return { kind = 'session-lost' } end
  local key = KEYS[1 + index]
  local seat = found(key, claim.name)
  if seat.state == 'foreign' then return { kind = 'foreign', key = seat.key } end
  if seat.state == 'held' and isOf(seat, claim.session, claim.bid) then
    if seat.value ~= claim.value then take(key, claim, holder) end
    return { kind = 'granted' }
  end
  if not mayTake(seat, claim) then return { kind = 'beaten', seat = seat } end
  if isTooYoung() then return { kind = 'restarted' } end
  if asked.votes then holder.ends = now + holder.ttl end
  take(key, claim, holder)
  if asked.votes then extendSession(holder) end
  if seat.dead then
    local _, isKnown = living(seat.dead)
    if isKnown and not asked.votes then bury(seat.dead) end
    redis.call('HDEL', holdsKey(seat.dead), claim.name)
  end
  return { kind = 'granted' }
end

-- One of several may fail when another has been written, so all is read before. A claim that is alone reads everything before it writes.
if #asked.claims > 1 then
  for index, claim in ipairs(asked.claims) do
    living(claim.session)
    found(KEYS[1 + index], claim.name)
  end
end
local answers = {}
for index, claim in ipairs(asked.claims) do answers[index] = answer(index, claim) end
return cjson.encode({ kind = 'claimed', answers = answers })

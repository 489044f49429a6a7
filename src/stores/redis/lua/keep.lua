-- Extends a session and the holds sent along: { session, beats, holds = { { name, bid }, … }, strays }. Answers which of them are gone (by their place), and
-- what else the session has.
--
-- `votes` = { candidate, ttl }: this server is one of several. It may have missed the opening, a claim or some renewals, or have forgotten them;
-- then this renewal makes up for that where the seat is vacant, as a claim would, unless this very bid was given back here. It is one vote, and nobody else has it.
local id = asked.session
local holder, isKnown, isEnded = living(id)
local votes = asked.votes
if not holder and not isEnded and votes then
  holder = { id = id, ttl = votes.ttl, candidate = votes.candidate, isNew = true }
end
if not holder then
  if isKnown then bury(id) end
  return cjson.encode({ kind = 'session-lost' })
end

-- Of two copies of one process the second does not find the beat that it knows.
local beats = asked.beats or {}
if #beats > 1 and holder.beat then
  local stands = false
  for index = 1, #beats - 1 do stands = stands or beats[index] == holder.beat end
  if not stands then return cjson.encode({ kind = 'session-lost' }) end
end

local lost, sent, stays, vacancies = {}, {}, {}, {}
for index, hold in ipairs(asked.holds) do
  sent[hold.name .. '\n' .. hold.bid] = true
  local seat = seatAt(KEYS[1 + index], hold.name)
  if seat.state == 'held' and isOf(seat, id, hold.bid) then
    stays[index] = true
  elseif votes and seat.state == 'vacant' and (seat.dead == id or seat.was ~= hold.bid) and not isTooYoung() then
    vacancies[#vacancies + 1] = index
  else
    lost[#lost + 1] = index
  end
end
local strays = {}
if asked.strays then
  for _, hold in ipairs(holdsOf(id)) do
    if not sent[hold.name .. '\n' .. hold.bid] and isOf(seatAt(hold.key, hold.name), id, hold.bid) then
      strays[#strays + 1] = { name = hold.name, bid = hold.bid }
    end
  end
end

-- From here on it is written.
if holder.isNew then redis.call('HSET', sessionKey(id), 'candidate', holder.candidate, 'ttl', whole(holder.ttl)) end
extendSession(holder)
for index in ipairs(asked.holds) do
  if stays[index] then redis.call('PEXPIRE', KEYS[1 + index], isOurs and seatLifeMs(holder) or whole(holder.ttl)) end
end
for _, index in ipairs(vacancies) do
  local hold = asked.holds[index]
  occupy(KEYS[1 + index], hold.name, holder, hold.bid, '')
end
if #beats > 0 then redis.call('HSET', sessionKey(id), 'beat', beats[#beats]) end
return cjson.encode({ kind = 'kept', candidate = holder.candidate, ttl = holder.ttl, beat = beats[#beats], lost = lost, strays = strays,
  isNew = holder.isNew })

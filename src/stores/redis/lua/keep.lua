-- Extends a session and the holds sent along. ARGV: JSON of { session, beats, bids, strays, uptime, votes }; a bid for each of KEYS. Answers which of the holds are gone (by their place), and what
-- else the session has.
--
-- `votes` = { candidate, ttl }: this server is one of several. It may have missed the opening, a claim or some renewals, or have forgotten them;
-- then this renewal makes up for that where the seat is vacant, as a claim would, unless this very bid was given back here. It is one vote, and nobody else has it.
local asked = cjson.decode(ARGV[1])
local session = sessionOf(asked.session)
local votes = asked.votes
local isNew = votes and not session.lives and not session.isEnded
if isNew then session.candidate, session.ttl = votes.candidate, votes.ttl end
if not session.lives and not isNew then
  if session.isKnown then bury(session) end
  return cjson.encode({ kind = 'session-lost' })
end

-- Of two copies of one process the second does not find the beat that it knows.
local beats = asked.beats or {}
local beat = #beats > 1 and not isNew and redis.call('HGET', session.key, 'beat')
if beat then
  local stands = false
  for index = 1, #beats - 1 do stands = stands or beats[index] == beat end
  if not stands then return cjson.encode({ kind = 'session-lost' }) end
end

-- Held, or left behind by this session, which was dead here until now.
local function isOf(seat, bid)
  if seat.dead then return seat.dead == session.id and seat.was == bid end
  return seat.state == 'held' and seat.session == session.id and seat.bid == bid
end
local lost, sent, stays, vacancies = {}, {}, {}, {}
for index, bid in ipairs(asked.bids) do
  local key = KEYS[1 + index]
  sent[key .. '\n' .. bid] = true
  local seat = seatAt(key)
  if seat.state == 'held' and isOf(seat, bid) then
    stays[index] = true
  elseif votes and seat.state == 'vacant' and (seat.dead == session.id or seat.was ~= bid) and not isTooYoung(asked.uptime) then
    vacancies[#vacancies + 1] = index
  else
    lost[#lost + 1] = index
  end
end
local strays = {}
if asked.strays then
  for _, hold in ipairs(holdsOf(session.key)) do
    local key = keyOf(hold.name)
    if not sent[key .. '\n' .. hold.bid] and isOf(seatAt(key), hold.bid) then strays[#strays + 1] = hold end
  end
end

-- From here on it is written.
if isNew then redis.call('HSET', session.key, 'candidate', session.candidate, 'ttl', whole(session.ttl), 'ended', '') end
extendSession(session)
for index in ipairs(asked.bids) do
  if stays[index] then redis.call('PEXPIRE', KEYS[1 + index], seatLifeMs(session)) end
end
for _, index in ipairs(vacancies) do occupy(KEYS[1 + index], session, asked.bids[index], '') end
if #beats > 0 then redis.call('HSET', session.key, 'beat', beats[#beats]) end
return cjson.encode({ kind = 'kept', candidate = session.candidate, ttl = session.ttl, beat = beats[#beats], lost = lost, strays = strays, isNew = isNew })

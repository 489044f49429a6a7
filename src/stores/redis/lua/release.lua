-- Gives back: { session, holds = { { name, bid }, … }, ends, beats }. Conditioned on session and bid; a copy of a process that was overtaken ends nothing.
local id = asked.session
if asked.ends and asked.beats and #asked.beats > 0 then
  local beat = readOf('HGET', sessionKey(id), 'beat')
  local stands = not beat
  for _, each in ipairs(asked.beats) do stands = stands or each == beat end
  if not stands then return cjson.encode({ kind = 'released' }) end
end

local leaving = {}
for index, hold in ipairs(asked.holds) do leaving[index] = { name = hold.name, bid = hold.bid, key = KEYS[1 + index] } end
if asked.ends then
  living(id) -- it fails if that is not a record of ours
  for _, hold in ipairs(holdsOf(id)) do leaving[#leaving + 1] = hold end
end
for _, hold in ipairs(leaving) do hold.isMine = isOf(seatAt(hold.key, hold.name), id, hold.bid) end

local done = {}
for _, hold in ipairs(leaving) do
  if hold.isMine and not done[hold.key] then
    vacate(hold.key, hold.name, id, hold.bid)
    done[hold.key] = true
  end
end
if asked.ends then
  redis.call('DEL', holdsKey(id))
  -- Also where there is no record: an opening that is still on its way finds it, and is refused.
  redis.call('HSET', sessionKey(id), 'ttl', '1', 'until', '0', 'ended', '1')
  redis.call('PEXPIRE', sessionKey(id), REMEMBER_SESSION_MS)
end
return cjson.encode({ kind = 'released' })

-- Gives back, and ends the session with all that it has. ARGV: the session, the bid of each hold, and the beats that the session knows. A copy of a process that was overtaken ends nothing.
local session = sessionOf(ARGV[1]) -- it fails if that is not a record of ours
local beat = #ARGV > #KEYS and redis.call('HGET', session.key, 'beat')
if beat then
  local stands = false
  for index = #KEYS + 1, #ARGV do stands = stands or ARGV[index] == beat end
  if not stands then return '{"kind":"released"}' end
end

local mine = {}
for index = 2, #KEYS do
  if isMine(KEYS[index], session.id, ARGV[index]) then mine[KEYS[index]] = ARGV[index] end
end
for _, hold in ipairs(holdsOf(session.key)) do
  local key = keyOf(hold.name)
  if isMine(key, session.id, hold.bid) then mine[key] = hold.bid end
end
for key, bid in pairs(mine) do vacate(key, session.key, bid) end
redis.call('DEL', session.key)
-- Also where there was no record: an opening that is still on its way finds it, and is refused.
redis.call('HSET', session.key, 'ttl', '1', 'until', '0', 'ended', '1')
redis.call('PEXPIRE', session.key, REMEMBER_SESSION_MS)
return '{"kind":"released"}'

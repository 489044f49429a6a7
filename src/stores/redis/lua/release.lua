-- Gives back. ARGV: the session, and the bid of each hold. Conditioned on both.
local session = prefix .. ':session:' .. ARGV[1]
local mine = {}
for index = 2, #KEYS do
  if isMine(KEYS[index], ARGV[1], ARGV[index]) then mine[KEYS[index]] = ARGV[index] end
end
for key, bid in pairs(mine) do vacate(key, session, bid) end
return '{"kind":"released"}'

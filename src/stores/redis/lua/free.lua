-- The usual claim comes first: one name, over a seat that nobody has. It is answered without the tables and the functions that the other cases need, which take as long as all commands together.
-- SAFETY  this grants only what the rest of the script would grant, and writes the same: the session lives, nobody has the seat, and the bid is not the one that had it last. In every other case it
-- writes nothing, and the rest decides. A test compares the two in every state of session and seat (test/stores/redis/free-seat.test.ts).
if #KEYS == 2 and ARGV[1] == '' and ARGV[2] ~= '1' and ARGV[5] == 'vacant' then
  local key, id, bid = KEYS[2], ARGV[3], ARGV[4]
  local session = prefix .. ':session:' .. id
  local record = redis.pcall('HMGET', session, 'ttl', 'until', 'ended', 'candidate')
  local ttl, ends = tonumber(record[1]), tonumber(record[2])
  local isOpen = ttl and ends and (not record[3] or record[3] == '')
  local last = isOpen and lastBidOf(key)
  local time = redis.call('TIME')
  local left = isOpen and ends - (time[1] * 1000 + math.floor(time[2] / 1000))
  if last and last ~= bid and left > 0 then
    local candidate, name = record[4] or '', nameOf(key)
    local text = HELD .. id .. '\n' .. bid .. '\n' .. ttl .. ' ' .. #candidate .. '\n' .. candidate .. ARGV[6]
    redis.call('SET', key, text, 'PX', string.format('%.0f', freshLifeMs(ttl, left)))
    redis.call('HSET', session, 'hold:' .. name, bid)
    tell(name, 'held')
    return '{"kind":"granted"}'
  end
end

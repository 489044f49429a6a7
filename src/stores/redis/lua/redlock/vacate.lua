-- What only frees memory is never refused for want of it, nor is what follows it: so that comes first.
local function vacate(key, session, bid)
  redis.call('DEL', key)
  redis.call('SET', wasKey(key), bid, 'PX', REMEMBER_SEAT_MS)
  redis.call('HDEL', session, 'hold:' .. key)
  tell(key, 'vacant')
end

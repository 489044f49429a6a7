-- What only frees memory is never refused for want of it, nor is what follows it: so that comes first.
local function vacate(key, session, bid)
  local name = nameOf(key)
  redis.call('HDEL', session, 'hold:' .. name)
  redis.call('SET', key, WAS .. bid, 'PX', REMEMBER_SEAT_MS)
  tell(name, 'vacant')
end

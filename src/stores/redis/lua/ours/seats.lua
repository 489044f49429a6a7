-- A seat points to the session that has it, so that a renewal of the session renews it.
local function seatAt(key)
  local text = redis.pcall('GET', key)
  if not text then return vacant() end
  if type(text) == 'table' then return foreign(key, text) end
  if string.sub(text, 1, #WAS) == WAS then return vacant(string.sub(text, #WAS + 1)) end
  local seat = readHeld(text)
  if not seat then return foreign(key) end
  local session = sessionOf(seat.session)
  if not session.lives then return { state = 'vacant', version = '?' .. seat.bid, was = seat.bid, dead = seat.session } end
  seat.version = seat.bid .. '@' .. whole(session.ends)
  seat.left = session.ends - now
  return seat
end

-- It goes away by itself long after its session; every keep that carries it moves that on.
local function seatLifeMs(session)
  session.seatLife = session.seatLife or whole(4 * session.ttl + REMEMBER_SESSION_MS)
  return session.seatLife
end

-- What is new comes first: where memory is full the server refuses it, as long as the script has written nothing.
local function occupy(key, session, bid, value)
  local name = nameOf(key)
  redis.call('SET', key, heldText(session, bid, value), 'PX', seatLifeMs(session))
  redis.call('HSET', session.key, 'hold:' .. name, bid)
  tell(name, 'held')
end

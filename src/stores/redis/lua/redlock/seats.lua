-- What another client of Redlock has put there is shown as far as it can be printed.
local function strangersSeat(text, left)
  local shown = string.match(text, '^[%w%p]+$') and string.sub(text, 1, 64) or redis.sha1hex(text)
  return { state = 'held', version = 'stranger ' .. redis.sha1hex(text), left = left,
    candidate = 'a client that is not conclave (' .. shown .. ')', value = '' }
end

local function seatAt(key)
  local text = redis.pcall('GET', key)
  if not text then
    local was = redis.pcall('GET', wasKey(key))
    if type(was) == 'table' then return foreign(wasKey(key), was) end
    return vacant(was or nil)
  end
  if type(text) == 'table' then return foreign(key, text) end
  local left = redis.call('PTTL', key)
  if left < 0 then return foreign(key) end -- a lock expires; this is somebody's data
  local seat = readHeld(text)
  if not seat then return strangersSeat(text, left) end
  local session = sessionOf(seat.session)
  seat.version = seat.bid .. '@' .. (session.lives and whole(session.ends) or 'over')
  seat.left = left
  return seat
end

-- It goes away when its session does.
local function seatLifeMs(session) return whole(session.ends - now) end

-- What is new comes first: where memory is full the server refuses it, as long as the script has written nothing. The bid that was given back last stays known for its minute, whoever has the seat
-- meanwhile: nobody may claim by it again.
local function occupy(key, session, bid, value)
  redis.call('SET', key, heldText(session, bid, value), 'PX', seatLifeMs(session))
  redis.call('HSET', session.key, 'hold:' .. key, bid)
  tell(key, 'held')
end

-- The bid that had the seat last, empty where none is known; nil where the seat may be somebody's.
local function lastBidOf(key)
  if redis.pcall('GET', key) then return nil end
  local was = redis.pcall('GET', wasKey(key))
  if not was then return '' end
  if type(was) == 'string' then return was end
end

local function freshLifeMs(_, left) return left end

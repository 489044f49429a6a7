-- The bid that had the seat last, empty where none is known; nil where the seat may be somebody's.
local function lastBidOf(key)
  local text = redis.pcall('GET', key)
  if not text then return '' end
  if type(text) == 'string' and string.sub(text, 1, #WAS) == WAS then return string.sub(text, #WAS + 1) end
end

local function freshLifeMs(ttl) return 4 * ttl + REMEMBER_SESSION_MS end

-- All that the session with this key has, as { name, bid }.
local function holdsOf(key)
  local flat, holds = redis.pcall('HGETALL', key), {}
  if flat.err then checkType(flat) end
  for index = 1, #flat, 2 do
    local name = string.match(flat[index], '^hold:(.*)$')
    if name then holds[#holds + 1] = { name = name, bid = flat[index + 1] } end
  end
  return holds
end

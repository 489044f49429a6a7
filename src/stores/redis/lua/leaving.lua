-- Whether this bid of this session has the seat; also a seat that its own dead session has left behind.
local function isMine(key, session, bid)
  local text, head = redis.pcall('GET', key), headOf(session, bid)
  if type(text) == 'table' then checkType(text) end
  return type(text) == 'string' and string.sub(text, 1, #head) == head
end

-- One page of the names that are known here: { cursor }. Answers { names, cursor }; a cursor of "0" is the end. Writes nothing.
--
-- In our own layout a name has its key. With layout redlock a name is a key like any other, so that only those are found of which a session of ours has a note.
local function globOf(text) return (string.gsub(text, '[%*%?%[%]\\]', '\\%0')) end
local page = redis.call('SCAN', asked.cursor, 'MATCH', globOf(prefix) .. (isOurs and ':seat:*' or ':holds:*'), 'COUNT', 1000)
local names = {}
local function note(key, name)
  if seatAt(key, name).state ~= 'foreign' then names[#names + 1] = name end
end
for _, key in ipairs(page[2]) do
  if isOurs then
    note(key, string.sub(key, #prefix + #':seat:' + 1))
  elseif readOf('HGETALL', key) then
    for _, hold in ipairs(holdsOf(string.sub(key, #prefix + #':holds:' + 1))) do note(hold.key, hold.name) end
  end
end
return cjson.encode({ names = names, cursor = page[1] })

-- One page of the names that are known here. ARGV: the cursor. Answers { names, cursor }; a cursor of "0" is the end. Writes nothing.
--
-- In our own layout a name has its key. With layout redlock a name is a key like any other, so that only those are found of which a session of ours has a note.
local function globOf(text) return (string.gsub(text, '[%*%?%[%]\\]', '\\%0')) end
local isOurs = keyOf('') ~= ''
local page = redis.call('SCAN', ARGV[1], 'MATCH', globOf(prefix) .. (isOurs and ':seat:*' or ':session:*'), 'COUNT', 1000)
local names = {}
local function note(name)
  if seatAt(keyOf(name)).state ~= 'foreign' then names[#names + 1] = name end
end
for _, key in ipairs(page[2]) do
  if isOurs then
    note(nameOf(key))
  else
    for _, hold in ipairs(holdsOf(key)) do note(hold.name) end
  end
end
return cjson.encode({ names = names, cursor = page[1] })

-- { names = { … } }: what stands at each. Writes nothing.
local seats = {}
for index, name in ipairs(asked.names) do seats[index] = seatAt(KEYS[1 + index], name) end
return cjson.encode({ kind = 'seen', seats = seats })

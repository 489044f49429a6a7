-- What stands at each of KEYS: { kind = "seen", seats }. Writes nothing.
local seats = {}
for index = 2, #KEYS do seats[index - 1] = seatAt(KEYS[index]) end
return cjson.encode({ kind = 'seen', seats = seats })

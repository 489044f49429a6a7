-- The layout "ours": the seat of a name has a key of ours.
local SEATS = prefix .. ':seat:'
local WAS = 'conclave was\n'

local function nameOf(key) return string.sub(key, #SEATS + 1) end
local function keyOf(name) return SEATS .. name end

-- The layout "redlock": a name is a key like any other, with an expiry, which other libraries write as well.
local function nameOf(key) return key end
local function keyOf(name) return name end
local function wasKey(name) return prefix .. ':was:' .. name end

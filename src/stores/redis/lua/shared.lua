-- What every script of `redis:` begins with. A script has only the pieces that it needs (scripts.ts), because the server makes each function anew whenever a script runs. KEYS[1] is the prefix of our
-- own keys; KEYS[1 + i] is the seat of the i-th name of the request. What ARGV has, and what is answered, stands at the head of each verb.
--
--   PREFIX:session:ID   hash: candidate, ttl, until (milliseconds of this server's wall clock), ended (empty, or 1), beat; and for each name that it holds, hold:NAME -> bid
--   the seat            a text with an expiry: HELD, session, newline, bid, newline, ttl, space, length of the candidate, newline, candidate, value
--   the seat, ours      at PREFIX:seat:NAME. After a release the text is WAS, bid
--   the seat, redlock   at the name itself. After a release it is gone, and PREFIX:was:NAME is the bid
--
-- INVARIANT  a session lives while now < until and nobody has ended it. `ended` is never taken back, so that a clock that is set back revives nobody
-- INVARIANT  a seat is held only while its session lives: ours points to it, and in the layout redlock the text expires when the session does
-- INVARIANT  everything that can fail is read before the first write: a script that stops in the middle is not taken back by the server
local prefix = KEYS[1]
local HELD = 'conclave\n'

-- How long the end of a session is remembered, so that what is still on its way does not open it again.
local REMEMBER_SESSION_MS = 3600000
-- How long the last bid of a seat is remembered: a late copy of its claim is then not granted once more. A text, because the server takes longer to read a number of Lua.
local REMEMBER_SEAT_MS = '60000'

-- What the text of a seat begins with that this bid of this session has. Neither has a newline in it.
local function headOf(session, bid) return HELD .. session .. '\n' .. bid .. '\n' end

-- Another error than that the key is of another type (a missing right) ends the script.
local function checkType(reply)
  if not string.find(reply.err, 'WRONGTYPE') then error(reply.err) end
end

-- A hint. A user without the right to publish has none; waiters look by themselves.
local function tell(name, word) redis.pcall('PUBLISH', prefix .. ':told:' .. name, word) end

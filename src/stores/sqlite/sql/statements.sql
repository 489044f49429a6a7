-- Every statement that is run on the tables (tables.sql), by its name. ← is what goes in, → what comes out.

-- TABLES
-- → name of every table that is not SQLite's own.
SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~';

-- LIST_NAMES
-- ← how many → names in order: all that have ever been led.
SELECT name FROM conclave_counter ORDER BY name LIMIT CAST(? AS INTEGER);

-- CREATE_META
-- ← schema version, domain.
INSERT INTO conclave_meta (only, schema, domain, change) VALUES (1, ?, ?, 0);

-- READ_META
-- → schema, domain: one row in a file that is ours.
SELECT schema, domain FROM conclave_meta;

-- LAST_CHANGE
-- → change: of any seat, as text.
SELECT CAST(change AS TEXT) AS change FROM conclave_meta;

-- DATA_VERSION
-- → data_version: differs from before exactly if another connection has committed.
PRAGMA data_version;

-- CHANGED_SINCE
-- ← change number as text. → name, change (text) of what has changed since.
SELECT name, CAST(change AS TEXT) AS change FROM conclave_counter WHERE change > CAST(? AS INTEGER);

-- LOOK
-- ← names as a JSON array. → a row per name, in their order: the counter, the seat and its session, each null where there is none. block_boot: of the block that may still be in use.
SELECT asked.value AS name, CAST(counter.change AS TEXT) AS change, counter.ttl AS last_ttl,
  seat.name IS NOT NULL AS present, seat.session AS session, seat.bid AS bid, CAST(seat.token AS TEXT) AS token, seat.value AS value,
  session.id IS NOT NULL AS known, session.candidate AS candidate, session.ttl AS ttl, CAST(session.beat AS TEXT) AS beat,
  session.ended IS NOT NULL AS ended, session.boot AS boot, session.clock AS clock, session.expires AS expires,
  session.socket AS socket, session.socket_file AS socket_file, block.boot AS block_boot
FROM json_each(?) AS asked
LEFT JOIN conclave_counter AS counter ON counter.name = asked.value
LEFT JOIN conclave_seat AS seat ON seat.name = asked.value
LEFT JOIN conclave_session AS session ON session.id = seat.session
LEFT JOIN conclave_block AS block ON block.name = counter.name AND block.last = counter.last
ORDER BY asked.key;

-- READ_SESSION
-- ← session. → candidate, ttl, beat, ended (0 or 1); no row if it is not known.
SELECT candidate, ttl, beat, ended IS NOT NULL AS ended FROM conclave_session WHERE id = ?;

-- OPEN_SESSION
-- ← session, candidate, ttl, beat, boot, clock, expires, socket, socket file.
INSERT INTO conclave_session (id, candidate, ttl, beat, boot, clock, expires, socket, socket_file) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- KEEP_SESSION
-- ← beat to leave (null: one more than before), boot, clock, expires, expires, boot, clock, session, beats as JSON of which one must stand there (null: any), the same.
-- → candidate, ttl; no row if it is over, not known, or another copy of the process has kept it.
-- On one clock `expires` never goes back: a keep that was stopped on its way and comes after a later one takes nothing away.
UPDATE conclave_session
SET beat = coalesce(?, beat + 1),
  expires = CASE WHEN boot IS ? AND clock IS ? THEN max(coalesce(expires, 0), ?) ELSE ? END,
  boot = ?, clock = ?
WHERE id = ? AND ended IS NULL AND (? IS NULL OR beat IN (SELECT value FROM json_each(?)))
RETURNING candidate, ttl;

-- AUDIT
-- ← session, session. → held, marks (text): how many seats it holds, and the sum of their marks. Answered from an index alone. asked: how many requests to hand over there are, of anybody.
-- blocks: how many blocks of tokens the session has.
SELECT count(*) AS held, CAST(coalesce(sum(mark), 0) AS TEXT) AS marks, (SELECT count(*) FROM conclave_asked) AS asked,
  (SELECT count(*) FROM conclave_block WHERE session = ?) AS blocks
FROM conclave_seat WHERE session = ?;

-- SEATS_OF
-- ← session. → name, bid of every seat it holds.
SELECT name, bid FROM conclave_seat WHERE session = ?;

-- NEXT_TOKEN
-- ← name, ttl. → token (text): the name's next; no row if there is none left.
INSERT INTO conclave_counter (name, last, ttl, change) VALUES (?, 1, ?, 0)
ON CONFLICT (name) DO UPDATE SET last = last + 1, ttl = excluded.ttl WHERE last < 9223372036854775807
RETURNING CAST(last AS TEXT) AS token;

-- NEXT_TOKEN_IF_FREE
-- ← ttl, name, bid, session, boot. → token (text): the name's next, if its seat is there and vacant, this bid was not the last to hold it, the session lives, no request to hand over
-- stands at the name, and no block of tokens of another boot may still be in use. No row otherwise.
UPDATE conclave_counter SET last = last + 1, ttl = ?
WHERE name = ? AND last < 9223372036854775807
  AND EXISTS (SELECT 1 FROM conclave_seat AS seat WHERE seat.name = conclave_counter.name AND seat.session IS NULL AND seat.bid <> ?)
  AND EXISTS (SELECT 1 FROM conclave_session WHERE id = ? AND ended IS NULL)
  AND NOT EXISTS (SELECT 1 FROM conclave_asked AS asked WHERE asked.name = conclave_counter.name)
  AND NOT EXISTS (SELECT 1 FROM conclave_block AS block
    WHERE block.name = conclave_counter.name AND block.last = conclave_counter.last AND block.boot IS NOT ?)
RETURNING CAST(last AS TEXT) AS token;

-- TAKE_SEAT
-- ← name, session, bid, token (text), mark, value.
INSERT INTO conclave_seat (name, session, bid, token, mark, value) VALUES (?, ?, ?, CAST(? AS INTEGER), ?, ?)
ON CONFLICT (name) DO UPDATE
SET session = excluded.session, bid = excluded.bid, token = excluded.token, mark = excluded.mark, value = excluded.value;

-- RAISE_COUNTER
-- ← how much (text), name, how much. → last (text): where the counter stands now; no row if there are not so many tokens left.
UPDATE conclave_counter SET last = last + CAST(? AS INTEGER)
WHERE name = ? AND last <= 9223372036854775807 - CAST(? AS INTEGER)
RETURNING CAST(last AS TEXT) AS last;

-- RESERVE_BLOCK
-- ← name, session, last token (text), boot.
INSERT INTO conclave_block (name, session, last, boot) VALUES (?, ?, CAST(? AS INTEGER), ?)
ON CONFLICT (name) DO UPDATE SET session = excluded.session, last = excluded.last, boot = excluded.boot;

-- TAKE_SEAT_FROM_BLOCK
-- ← session, bid, mark, value, name, bid, token that was granted last (text), session, session. → token (text): the one after that, if the seat is there and vacant and shows that token,
-- this bid was not the last to hold it, the block of the name belongs to this session, has a token left, and ends where the counter stands, the session lives, and no request to hand over
-- stands at the name. No row otherwise.
UPDATE conclave_seat SET session = ?, bid = ?, token = token + 1, mark = ?, value = ?
WHERE name = ? AND session IS NULL AND bid <> ? AND token = CAST(? AS INTEGER)
  AND EXISTS (SELECT 1 FROM conclave_block AS block JOIN conclave_counter AS counter ON counter.name = block.name AND counter.last = block.last
    WHERE block.name = conclave_seat.name AND block.session = ? AND conclave_seat.token < block.last)
  AND EXISTS (SELECT 1 FROM conclave_session WHERE id = ? AND ended IS NULL)
  AND NOT EXISTS (SELECT 1 FROM conclave_asked AS asked WHERE asked.name = conclave_seat.name)
RETURNING CAST(token AS TEXT) AS token;

-- FORGET_BLOCKS
-- ← session.
DELETE FROM conclave_block WHERE session = ?;

-- SET_VALUE
-- ← value, name.
UPDATE conclave_seat SET value = ? WHERE name = ?;

-- VACATE
-- ← name, session, bid.
UPDATE conclave_seat SET session = NULL WHERE name = ? AND session = ? AND bid = ?;

-- VACATE_ALL
-- ← session.
UPDATE conclave_seat SET session = NULL WHERE session = ?;

-- END_SESSION
-- ← session, candidate, ttl. A session that was never seen is remembered as over, so that an opening still under way finds out.
INSERT INTO conclave_session (id, candidate, ttl, beat, ended) VALUES (?, ?, ?, 0, (SELECT change FROM conclave_meta))
ON CONFLICT (id) DO UPDATE SET ended = coalesce(ended, excluded.ended);

-- END_EXPIRED
-- ← boot, clock, now on that clock. Ends what holds nothing and has run out on this very clock: a waiter that was killed.
UPDATE conclave_session SET ended = (SELECT change FROM conclave_meta)
WHERE ended IS NULL AND boot = ? AND clock = ? AND expires < ?
  AND NOT EXISTS (SELECT 1 FROM conclave_seat WHERE session = conclave_session.id);

-- FORGET_ENDED
-- Forgets ended sessions but the latest thousand.
DELETE FROM conclave_session WHERE id IN (
  SELECT id FROM conclave_session WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT -1 OFFSET 1000);

-- LIVE_SOCKETS
-- → socket of every session that lives.
SELECT socket FROM conclave_session WHERE ended IS NULL AND socket IS NOT NULL;

-- CREATE_ASKED
-- The table of requests to hand over, made where a file does not have it yet: files of an earlier version are used on. A row says nothing unless its token is that of the seat.
CREATE TABLE IF NOT EXISTS conclave_asked (
  name TEXT PRIMARY KEY NOT NULL,
  bid TEXT NOT NULL,
  token INTEGER NOT NULL CHECK (token > 0)
) STRICT, WITHOUT ROWID;

-- ASK_TO_LEAVE
-- ← name, bid, token (text). Kept only if the seat is held with exactly these by a session that lives. → name; no row if it is not.
INSERT INTO conclave_asked (name, bid, token)
SELECT seat.name, seat.bid, seat.token FROM conclave_seat AS seat JOIN conclave_session AS session ON session.id = seat.session
WHERE seat.name = ? AND seat.bid = ? AND seat.token = CAST(? AS INTEGER) AND session.ended IS NULL
ON CONFLICT (name) DO UPDATE SET bid = excluded.bid, token = excluded.token
RETURNING name;

-- ASKED_OF
-- ← session. → name, bid, token (text) of each request that stands at a name which it holds. Few are asked at a time: their table is read first.
SELECT asked.name AS name, asked.bid AS bid, CAST(asked.token AS TEXT) AS token
FROM conclave_asked AS asked CROSS JOIN conclave_seat AS seat ON seat.name = asked.name WHERE seat.session = ?;

-- FORGET_ASKED
-- ← name.
DELETE FROM conclave_asked WHERE name = ?;

-- ALL_ASKED
-- → name, token (text) of every request.
SELECT name, CAST(token AS TEXT) AS token FROM conclave_asked;

-- CREATE_INVITED
-- The last invitation of each name, so that those who look for changes of the file hear of it. Made where a file does not have it yet. Each invitation counts n up, also one with the same text.
CREATE TABLE IF NOT EXISTS conclave_invited (
  name TEXT PRIMARY KEY NOT NULL,
  invitation TEXT NOT NULL,
  n INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- INVITE
-- ← name, invitation.
INSERT INTO conclave_invited (name, invitation, n) VALUES (?, ?, 1)
ON CONFLICT (name) DO UPDATE SET invitation = excluded.invitation, n = n + 1;

-- ALL_INVITED
-- → name, invitation, n of every name at which somebody was ever invited.
SELECT name, invitation, n FROM conclave_invited;

-- HAS_MEMOS
-- → a row if the table of memos is there.
SELECT 1 AS there FROM sqlite_master WHERE type = 'table' AND name = 'conclave_memo';

-- IS_HELD
-- ← name, session, bid, token (text). → a row if the seat shows exactly these.
SELECT 1 AS held FROM conclave_seat WHERE name = ? AND session = ? AND bid = ? AND token = CAST(? AS INTEGER);

-- READ_MEMO
-- ← name, key. → key, value, token (text), bid, n; no row if there is none.
SELECT key, value, CAST(token AS TEXT) AS token, bid, n FROM conclave_memo WHERE name = ? AND key = ?;

-- READ_MEMOS
-- ← name. → the same of every key, in order.
SELECT key, value, CAST(token AS TEXT) AS token, bid, n FROM conclave_memo WHERE name = ? ORDER BY key;

-- COUNT_MEMOS
-- ← name. → memos: how many.
SELECT count(*) AS memos FROM conclave_memo WHERE name = ?;

-- WRITE_MEMO
-- ← name, key, value, token (text), bid, n.
INSERT INTO conclave_memo (name, key, value, token, bid, n) VALUES (?, ?, ?, CAST(? AS INTEGER), ?, ?)
ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, token = excluded.token, bid = excluded.bid, n = excluded.n;

-- HAS_BANS
-- → a row if the tables of bans are there.
SELECT 1 AS there FROM sqlite_master WHERE type = 'table' AND name = 'conclave_ban';

-- BANS_OF
-- ← node. → name of each election whose ban of it stands.
SELECT name FROM conclave_ban WHERE node = ? ORDER BY name;

-- TWINS_OF
-- ← node, machine, boot, clock, now on that clock. → a row for each session that lives under that name on another machine. One that has run out on this very clock does not.
SELECT known.session AS session FROM conclave_node AS known JOIN conclave_session AS session ON session.id = known.session
WHERE known.node = ? AND known.machine <> ? AND session.ended IS NULL
  AND NOT (session.boot IS ? AND session.clock IS ? AND coalesce(session.expires, 9e15) < ?);

-- RECORD_NODE
-- ← session, node, machine.
INSERT INTO conclave_node (session, node, machine) VALUES (?, ?, ?);

-- FORGET_NODES
-- Forgets the nodes of sessions that are not known any more.
DELETE FROM conclave_node WHERE session NOT IN (SELECT id FROM conclave_session);

-- BAN
-- ← node, name.
INSERT INTO conclave_ban (node, name) VALUES (?, ?) ON CONFLICT DO NOTHING;

-- LIFT
-- ← node, name.
DELETE FROM conclave_ban WHERE node = ? AND name = ?;

-- VACATE_NODE
-- ← node. Of all its sessions.
UPDATE conclave_seat SET session = NULL WHERE session IN (SELECT session FROM conclave_node WHERE node = ?);

-- END_NODE
-- ← node. Its sessions, in the transaction that has found the ban (lease/ban-rule.ts, rule 6).
UPDATE conclave_session SET ended = (SELECT change FROM conclave_meta)
WHERE ended IS NULL AND id IN (SELECT session FROM conclave_node WHERE node = ?);

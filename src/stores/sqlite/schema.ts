// The SQL of `sqlite:`: tables, and every statement that is run on them. Text only; what goes in and comes out is said above each.
//
//   meta      one row: the version of this layout, the token domain (random, made with the file), the number of the last change of any seat
//   session   a candidate's standing, renewed alone: a keep writes this row and no other
//   seat      a name → the session that holds it; without a session it is vacant. The row stays when it is given back
//   counter   a name → its last token and the number of its last change. Never deleted: a trigger refuses, whichever process tries
//
// INVARIANT  counter.last ≥ every token granted for the name; it grows in the transaction that grants
// INVARIANT  a seat that comes, changes or goes gives its name a new change number (triggers: also if somebody does it by hand)
// INVARIANT  an ended session holds no seat, except for what somebody edits by hand
// Tables are STRICT, so that SQLite itself refuses text where a number belongs. Numbers that may exceed 2⁵³ travel as text.

export const SCHEMA_VERSION = 1;

/** Run once in an empty file, inside a transaction. */
export const CREATE: string = `
CREATE TABLE conclave_meta (
  only INTEGER PRIMARY KEY CHECK (only = 1),
  schema INTEGER NOT NULL,
  domain TEXT NOT NULL,
  change INTEGER NOT NULL
) STRICT;
CREATE TABLE conclave_session (
  id TEXT PRIMARY KEY NOT NULL,
  candidate TEXT NOT NULL,
  ttl INTEGER NOT NULL CHECK (ttl > 0), -- ms, as granted
  beat INTEGER NOT NULL,                -- grows with every keep
  ended INTEGER,                        -- the change number at which it ended; NULL while it lives
  boot TEXT,                            -- whose clock \`expires\` is on: the kernel's boot id
  clock TEXT,                           --   and the time namespace
  expires INTEGER,                      -- ms of CLOCK_MONOTONIC: last keep sent + ttl
  socket TEXT,                          -- where its process listens while it lives
  socket_file TEXT                      -- device and inode of that socket
) STRICT, WITHOUT ROWID;
CREATE TABLE conclave_counter (
  name TEXT PRIMARY KEY NOT NULL,
  last INTEGER NOT NULL CHECK (last > 0),
  ttl INTEGER NOT NULL CHECK (ttl > 0), -- of the last holder, for whoever finds the seat missing
  change INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conclave_counter_change ON conclave_counter (change);
CREATE TABLE conclave_seat (
  name TEXT PRIMARY KEY NOT NULL,
  session TEXT,                         -- NULL: vacant
  bid TEXT NOT NULL,
  token INTEGER NOT NULL CHECK (token > 0),
  mark INTEGER NOT NULL,                -- a short sum of name and bid, for the audit of a keep
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX conclave_seat_session ON conclave_seat (session, mark) WHERE session IS NOT NULL;
CREATE TRIGGER conclave_seat_comes AFTER INSERT ON conclave_seat BEGIN
  UPDATE conclave_meta SET change = change + 1;
  UPDATE conclave_counter SET change = (SELECT change FROM conclave_meta) WHERE name = NEW.name;
END;
CREATE TRIGGER conclave_seat_changes AFTER UPDATE ON conclave_seat BEGIN
  UPDATE conclave_meta SET change = change + 1;
  UPDATE conclave_counter SET change = (SELECT change FROM conclave_meta) WHERE name IN (OLD.name, NEW.name);
END;
CREATE TRIGGER conclave_seat_goes AFTER DELETE ON conclave_seat BEGIN
  UPDATE conclave_meta SET change = change + 1;
  UPDATE conclave_counter SET change = (SELECT change FROM conclave_meta) WHERE name = OLD.name;
END;
CREATE TRIGGER conclave_counter_stays BEFORE DELETE ON conclave_counter BEGIN
  SELECT RAISE(ABORT, 'conclave: a counter is never deleted, or its tokens would begin again');
END;
CREATE TRIGGER conclave_counter_grows BEFORE UPDATE OF last ON conclave_counter WHEN NEW.last < OLD.last BEGIN
  SELECT RAISE(ABORT, 'conclave: a token never falls');
END;
CREATE TRIGGER conclave_meta_stays BEFORE DELETE ON conclave_meta BEGIN
  SELECT RAISE(ABORT, 'conclave: the token domain belongs to this file');
END;
`;

/** → name of every table that is not SQLite's own. */
export const TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'";

/** ← how many → names in order: all that have ever been led. */
export const LIST_NAMES = "SELECT name FROM conclave_counter ORDER BY name LIMIT CAST(? AS INTEGER)";

/** ← schema version, domain. */
export const CREATE_META = "INSERT INTO conclave_meta (only, schema, domain, change) VALUES (1, ?, ?, 0)";

/** → schema, domain: one row in a file that is ours. */
export const READ_META = "SELECT schema, domain FROM conclave_meta";

/** → change: of any seat, as text. */
export const LAST_CHANGE = "SELECT CAST(change AS TEXT) AS change FROM conclave_meta";

/** → data_version: differs from before exactly if another connection has committed. */
export const DATA_VERSION = "PRAGMA data_version";

/** ← change number as text. → name, change (text) of what has changed since. */
export const CHANGED_SINCE =
  "SELECT name, CAST(change AS TEXT) AS change FROM conclave_counter WHERE change > CAST(? AS INTEGER)";

/** ← names as a JSON array. → a row per name, in their order: the counter, the seat and its session, each null where there is none. */
export const LOOK = `
SELECT asked.value AS name, CAST(counter.change AS TEXT) AS change, counter.ttl AS last_ttl,
  seat.name IS NOT NULL AS present, seat.session AS session, seat.bid AS bid, CAST(seat.token AS TEXT) AS token, seat.value AS value,
  session.id IS NOT NULL AS known, session.candidate AS candidate, session.ttl AS ttl, CAST(session.beat AS TEXT) AS beat,
  session.ended IS NOT NULL AS ended, session.boot AS boot, session.clock AS clock, session.expires AS expires,
  session.socket AS socket, session.socket_file AS socket_file
FROM json_each(?) AS asked
LEFT JOIN conclave_counter AS counter ON counter.name = asked.value
LEFT JOIN conclave_seat AS seat ON seat.name = asked.value
LEFT JOIN conclave_session AS session ON session.id = seat.session
ORDER BY asked.key`;

/** ← name. → a row if somebody holds it. */
export const IS_TAKEN = "SELECT 1 AS taken FROM conclave_seat WHERE name = ? AND session IS NOT NULL";

/** ← session. → candidate, ttl, ended (0 or 1); no row if it is not known. */
export const READ_SESSION = "SELECT candidate, ttl, ended IS NOT NULL AS ended FROM conclave_session WHERE id = ?";

/** ← session, candidate, ttl, boot, clock, expires, socket, socket file. */
export const OPEN_SESSION = `
INSERT INTO conclave_session (id, candidate, ttl, beat, boot, clock, expires, socket, socket_file) VALUES (?, ?, ?, 1, ?, ?, ?, ?, ?)`;

/**
 * ← boot, clock, expires, expires, boot, clock, session. → candidate, ttl; no row if it is over or not known.
 * On one clock `expires` never goes back: a keep that was stopped on its way and comes after a later one takes nothing away.
 */
export const KEEP_SESSION = `
UPDATE conclave_session
SET beat = beat + 1,
  expires = CASE WHEN boot IS ? AND clock IS ? THEN max(coalesce(expires, 0), ?) ELSE ? END,
  boot = ?, clock = ?
WHERE id = ? AND ended IS NULL
RETURNING candidate, ttl`;

/** ← session. → held, marks (text): how many seats it holds, and the sum of their marks. Answered from an index alone. */
export const AUDIT = `
SELECT count(*) AS held, CAST(coalesce(sum(mark), 0) AS TEXT) AS marks FROM conclave_seat WHERE session = ?`;

/** ← session. → name, bid of every seat it holds. */
export const SEATS_OF = "SELECT name, bid FROM conclave_seat WHERE session = ?";

/** ← name, ttl. → token (text): the name's next; no row if there is none left. */
export const NEXT_TOKEN = `
INSERT INTO conclave_counter (name, last, ttl, change) VALUES (?, 1, ?, 0)
ON CONFLICT (name) DO UPDATE SET last = last + 1, ttl = excluded.ttl WHERE last < 9223372036854775807
RETURNING CAST(last AS TEXT) AS token`;

/** ← name, session, bid, token (text), mark, value. */
export const TAKE_SEAT = `
INSERT INTO conclave_seat (name, session, bid, token, mark, value) VALUES (?, ?, ?, CAST(? AS INTEGER), ?, ?)
ON CONFLICT (name) DO UPDATE
SET session = excluded.session, bid = excluded.bid, token = excluded.token, mark = excluded.mark, value = excluded.value`;

/** ← value, name. */
export const SET_VALUE = "UPDATE conclave_seat SET value = ? WHERE name = ?";

/** ← name, session, bid. */
export const VACATE = "UPDATE conclave_seat SET session = NULL WHERE name = ? AND session = ? AND bid = ?";

/** ← session. */
export const VACATE_ALL = "UPDATE conclave_seat SET session = NULL WHERE session = ?";

/** ← session, candidate, ttl. A session that was never seen is remembered as over, so that an opening still under way finds out. */
export const END_SESSION = `
INSERT INTO conclave_session (id, candidate, ttl, beat, ended) VALUES (?, ?, ?, 0, (SELECT change FROM conclave_meta))
ON CONFLICT (id) DO UPDATE SET ended = coalesce(ended, excluded.ended)`;

/** ← boot, clock, now on that clock. Ends what holds nothing and has run out on this very clock: a waiter that was killed. */
export const END_EXPIRED = `
UPDATE conclave_session SET ended = (SELECT change FROM conclave_meta)
WHERE ended IS NULL AND boot = ? AND clock = ? AND expires < ?
  AND NOT EXISTS (SELECT 1 FROM conclave_seat WHERE session = conclave_session.id)`;

/** Forgets ended sessions but the latest thousand. */
export const FORGET_ENDED = `
DELETE FROM conclave_session WHERE id IN (
  SELECT id FROM conclave_session WHERE ended IS NOT NULL ORDER BY ended DESC LIMIT -1 OFFSET 1000)`;

/** → live: how many sessions live, or have died unnoticed. */
export const COUNT_LIVE = "SELECT count(*) AS live FROM conclave_session WHERE ended IS NULL";

/** → socket of every session that lives. */
export const LIVE_SOCKETS = "SELECT socket FROM conclave_session WHERE ended IS NULL AND socket IS NOT NULL";

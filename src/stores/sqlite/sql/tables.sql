-- The tables of a file, made once, inside a transaction.
--
--   meta      one row: the version of this layout, the token domain (random, made with the file), the number of the last change of any seat
--   session   a candidate's standing, renewed alone: a keep writes this row and no other
--   seat      a name → the session that holds it; without a session it is vacant. The row stays when it is given back
--   counter   a name → its last token and the number of its last change. Never deleted: a trigger refuses, whichever process tries
--   block     a name → the tokens that are reserved for a session (blocks.sql)
--   asked     a name → the term that was asked to hand over (in statements.sql: it is made also where the others are there already)
--
-- INVARIANT  counter.last ≥ every token granted for the name, also on the disk when the token is told; it grows in the transaction that grants the token, or that reserves it
-- INVARIANT  a seat that comes, changes or goes gives its name a new change number (triggers: also if somebody does it by hand)
-- INVARIANT  an ended session holds no seat, except for what somebody edits by hand
-- Tables are STRICT, so that SQLite itself refuses text where a number belongs. Numbers that may exceed 2⁵³ travel as text.
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
  beat INTEGER NOT NULL,                -- another one with every keep: what the keep has drawn, or one more than before
  ended INTEGER,                        -- the change number at which it ended; NULL while it lives
  boot TEXT,                            -- whose clock `expires` is on: the kernel's boot id
  clock TEXT,                           --   and the time namespace
  expires INTEGER,                      -- ms of CLOCK_MONOTONIC: last keep sent + ttl
  socket TEXT,                          -- where its process listens while it lives
  socket_file TEXT                      -- device and inode of that socket
) STRICT, WITHOUT ROWID;
CREATE TABLE conclave_counter (
  name TEXT PRIMARY KEY NOT NULL,
  last INTEGER NOT NULL CHECK (last > 0),
  ttl INTEGER NOT NULL CHECK (ttl > 0), -- of the last holder, for a rival that finds the seat missing
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

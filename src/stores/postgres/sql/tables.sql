-- The tables, and a view of them. They are made where they are missing; tables of another layout are refused.
--
--   meta      one row: the number of this layout, and the token domain (random, made with the tables)
--   session   a candidate's standing, renewed alone: a keep writes this row and no other, unless many seats were left behind
--   seat      a name → the session that holds it; without a session it is vacant. The row stays when it is given back
--   counter   a name → its last token. Never deleted: a trigger refuses, whichever role tries
--   memo      a name and a key → what a leader left there (memos.sql)
--   place     a view for people and for the functions: what stands at each name
--
-- INVARIANT  counter.last ≥ every token granted for the name; it grows in the transaction that grants
-- INVARIANT  beat and change are drawn at random and never come again, also if a replica is promoted that has forgotten the last of them: a counted
--            version would be counted twice then
-- INVARIANT  an ended session never lives again, and everything it holds is vacant from then on
DO $begin$ BEGIN
  IF to_regnamespace('$schema') IS NULL THEN CREATE SCHEMA $schema; END IF;
END $begin$;
CREATE TABLE IF NOT EXISTS $schema.meta (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  layout integer NOT NULL,
  domain text NOT NULL CHECK (domain <> '')
);
INSERT INTO $schema.meta (layout, domain) VALUES ($layout, $domain) ON CONFLICT DO NOTHING;
DO $check$ BEGIN
  IF (SELECT layout FROM $schema.meta) NOT BETWEEN $oldest AND $layout THEN
    RAISE EXCEPTION 'conclave: schema $schema has layout %, and this script is for layout $layout. Nothing was changed.', (SELECT layout FROM $schema.meta);
  END IF;
  IF to_regclass('$schema.seat') IS NOT NULL AND NOT EXISTS (
    SELECT FROM pg_attribute WHERE attrelid = to_regclass('$schema.seat') AND attname = 'last_session' AND NOT attisdropped) THEN
    RAISE EXCEPTION 'conclave: schema $schema was made by a script from before the first release, and cannot be updated. Nothing was changed. Use another schema, or drop it while no candidate runs: its tokens end with it, and guards must adopt the new ones (conclave fence adopt).';
  END IF;
END $check$;
UPDATE $schema.meta SET layout = $layout WHERE layout < $layout;

-- Room beside each row: a keep rewrites it in place, and nothing but autovacuum is needed.
CREATE TABLE IF NOT EXISTS $schema.session (
  id text COLLATE "C" PRIMARY KEY,
  candidate text NOT NULL,
  ttl integer NOT NULL CHECK (ttl > 0),   -- ms, as granted
  beat uuid NOT NULL,                     -- another one with every keep
  kept timestamptz NOT NULL,              -- database time of the last keep: for people, for sweeping up, and for expiry "database-clock"
  ended text CHECK (ended IN ('released', 'silent')) -- null while it lives; by itself, or by a rival that watched it in silence for its ttl
) WITH (fillfactor = 50);
CREATE TABLE IF NOT EXISTS $schema.counter (
  name text COLLATE "C" PRIMARY KEY,
  last bigint NOT NULL CHECK (last >= 0), -- 0: never granted
  ttl integer NOT NULL CHECK (ttl > 0),   -- of the last holder, for a rival that finds the seat missing
  change uuid NOT NULL
) WITH (fillfactor = 80);
CREATE TABLE IF NOT EXISTS $schema.seat (
  name text COLLATE "C" PRIMARY KEY,
  session text COLLATE "C",               -- null: vacant
  last_session text COLLATE "C" NOT NULL, -- who holds it, or held it last: so that giving back changes nothing that is indexed. '' when forgotten
  bid text NOT NULL,
  token bigint NOT NULL CHECK (token > 0),
  mark bigint NOT NULL,                   -- a short sum of name and bid, for the audit of a keep
  value text NOT NULL,
  change uuid NOT NULL,
  CHECK (session = last_session)
) WITH (fillfactor = 80);
-- The token whose holder was asked to hand over; null: nobody was. Tables of before get the column, without being rewritten.
DO $asked$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '$schema.seat'::regclass AND attname = 'asked_token' AND NOT attisdropped) THEN
    ALTER TABLE $schema.seat ADD COLUMN asked_token bigint;
  END IF;
END $asked$;
-- The machine that a session speaks for, and whether a ban has stood against it (bans.sql).
DO $node$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = '$schema.session'::regclass AND attname = 'banned' AND NOT attisdropped) THEN
    ALTER TABLE $schema.session ADD COLUMN node text COLLATE "C", ADD COLUMN machine text, ADD COLUMN banned boolean;
  END IF;
END $node$;
CREATE INDEX IF NOT EXISTS seat_last_session ON $schema.seat (last_session);

-- What stands at each name that was ever claimed. SELECT name, state, candidate, token FROM $schema.place;
CREATE OR REPLACE VIEW $schema.place AS
SELECT counter.name,
  CASE
    WHEN seat.name IS NULL AND counter.last = 0 THEN 'never'
    WHEN seat.name IS NULL THEN 'gone'
    WHEN seat.session IS NULL THEN 'free'
    WHEN session.id IS NULL THEN 'orphaned'
    WHEN session.ended IS NOT NULL THEN 'over'
    ELSE 'held'
  END AS state,
  CASE WHEN session.ended IS NULL THEN session.candidate END AS candidate,
  seat.token, seat.value, coalesce(session.ttl, counter.ttl) AS ttl, session.kept,
  seat.session, seat.bid, coalesce(seat.change, counter.change) AS change, session.beat
FROM $schema.counter
LEFT JOIN $schema.seat ON seat.name = counter.name
LEFT JOIN $schema.session ON session.id = seat.session;

-- Memos: small values that only the term in the seat can write, and that outlive it. They lie beside the counters, because seats can be deleted.
-- Tables of before get this table with the next run of the script. Until then a memo is refused, and nothing else is.
--
-- INVARIANT  a row is written only by a transaction that holds the locks of counter, seat and session of its name, and has found this token in the seat
CREATE TABLE IF NOT EXISTS $schema.memo (
  name text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value text NOT NULL,
  token bigint NOT NULL CHECK (token > 0), -- of the term that wrote it
  bid text NOT NULL,
  n bigint NOT NULL CHECK (n > 0),         -- counts the writes of the key in that term
  PRIMARY KEY (name, key)
) WITH (fillfactor = 80);

-- What stands at a key, as an answer shows it.
CREATE OR REPLACE FUNCTION $schema.shown(memo $schema.memo) RETURNS json LANGUAGE sql IMMUTABLE AS $shown$
  SELECT json_build_object('key', memo.key, 'value', memo.value, 'token', memo.token::text, 'bid', memo.bid, 'n', memo.n)
$shown$;

-- ← {byClock, name, session, bid, token, key, value, n, over, keys}: writes `value` over exactly the version `over` (null: where nothing stands), and waits for the disk.
-- → {kind: written}, also if this very write stands already; or, and nothing was changed, session-lost, seat-lost, conflict with the memo that stands, full.
--
-- Why no memo of a term comes after one of a later term: the locks are those of a claim, in the same order. So a claim for this name comes before, and then the seat shows its
-- token and not ours, for ever; or it waits until this memo is committed. The row of the memo is locked before it is compared, so that of two tries of one write one waits.
CREATE OR REPLACE FUNCTION $schema.write_memo(asked json) RETURNS json LANGUAGE plpgsql AS $write_memo$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  by_clock boolean := (asked->>'byClock')::boolean;
  wanted text := asked->>'name';
  mine text := asked->>'session';
  version text := (asked->>'bid') || '/' || (asked->>'token') || '/' || (asked->>'n');
  stands $schema.memo;
  stood text;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  PERFORM FROM $schema.counter WHERE name = wanted FOR UPDATE;
  PERFORM FROM $schema.seat WHERE name = wanted FOR UPDATE;
  PERFORM FROM $schema.session WHERE id = mine AND ended IS NULL AND banned IS NULL AND NOT (by_clock AND $schema.has_lapsed(kept, ttl)) FOR UPDATE;
  IF NOT FOUND THEN RETURN json_build_object('kind', 'session-lost'); END IF;
  PERFORM FROM $schema.seat WHERE name = wanted AND session = mine AND bid = asked->>'bid' AND token::text = asked->>'token';
  IF NOT FOUND THEN RETURN json_build_object('kind', 'seat-lost'); END IF;
  SELECT * INTO stands FROM $schema.memo WHERE name = wanted AND key = asked->>'key' FOR UPDATE;
  IF FOUND THEN stood := stands.bid || '/' || stands.token || '/' || stands.n; END IF;
  IF stood = version AND stands.value = asked->>'value' THEN RETURN json_build_object('kind', 'written'); END IF;
  IF stood IS DISTINCT FROM asked->>'over' THEN
    RETURN json_build_object('kind', 'conflict', 'memo', CASE WHEN stood IS NOT NULL THEN $schema.shown(stands) END);
  END IF;
  IF stood IS NULL AND (SELECT count(*) FROM $schema.memo WHERE name = wanted) >= (asked->>'keys')::integer THEN
    RETURN json_build_object('kind', 'full');
  END IF;
  INSERT INTO $schema.memo (name, key, value, token, bid, n)
    VALUES (wanted, asked->>'key', asked->>'value', (asked->>'token')::bigint, asked->>'bid', (asked->>'n')::bigint)
    ON CONFLICT (name, key) DO UPDATE SET value = excluded.value, token = excluded.token, bid = excluded.bid, n = excluded.n;
  -- As a request to hand over (`ask`): versions of before take it for another holder, and ask by a keep.
  PERFORM pg_notify('$schema', 'memo ' || (asked->>'key') || E'\n' || wanted) WHERE octet_length(wanted) < 7000;
  RETURN $schema.in_time(patience, json_build_object('kind', 'written'));
END $write_memo$;

-- ← {name, key}: key may be null. → {memos}, in the order of their keys. A server that only follows another one is refused: it may show what was before.
CREATE OR REPLACE FUNCTION $schema.read_memos(asked json) RETURNS json LANGUAGE plpgsql AS $read_memos$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  IF pg_is_in_recovery() THEN
    RAISE EXCEPTION 'conclave: a replica may show memos of before' USING ERRCODE = 'read_only_sql_transaction';
  END IF;
  RETURN json_build_object('kind', 'memos', 'domain', (SELECT domain FROM $schema.meta), 'memos', (
    SELECT coalesce(json_agg($schema.shown(memo) ORDER BY memo.key), '[]'::json) FROM $schema.memo
    WHERE memo.name = asked->>'name' AND (asked->>'key' IS NULL OR memo.key = asked->>'key')));
END $read_memos$;

-- What keep, open, claim, release and look mean, each as one function of the database: JSON in (`take` and `give` word by word), JSON out, one transaction. The same meaning as
-- src/simulator/models/race-shelf.ts, which the simulator hunts. schema.ts puts in the name of the schema, the number of this layout, and that of the oldest one that is served.
--
-- Why at most one holds a name: `claim` locks the name's counter, so that no other claim comes between, then its seat and its holder's session, so that
-- no release and no keep does; it reads them only then (each statement of a function sees what is committed when it begins), and swaps only over exactly
-- the version that the machine vouches for, or over a seat that it finds vacant. In the same transaction it takes the next token and ends the session it
-- replaces. Ended is for ever: every keep and claim asks for a session that is not ended, under the lock of its row.
-- `take` is the same for one claim of a seat that is free, in fewer statements: a statement that had to wait for a lock judges the row as it is then.
-- Locks are taken in one order everywhere (counters by name, seats by name, sessions by id), so that calls wait for each other and never in a circle.
-- What a keep forgets of seats that were left behind it locks out of that order, after its session: so it waits for none of them (SKIP LOCKED).
-- (Only a seat that is deleted by hand locks the other way round, its counter last: then Postgres takes one of the two back, and says so.)
--
-- Every function first says no to two things: a caller of a layout that these functions do not serve, and a transaction that began before this very message: that is one of the
-- user's own, and what we do inside it may never be committed. Under a stricter isolation than READ COMMITTED nothing is wrong; Postgres refuses more.
--
-- A caller says how long it waits (`patience`, ms). No lock is waited for longer, and what took longer, by a lock or a slow disk, takes itself back instead
-- of being applied when nobody waits for it any more. A statement_timeout would do that too, at the price of a statement of its own.

-- ← the caller's layout, and its patience. → null, and locks are waited for with that patience; or the answer that says why not.
CREATE OR REPLACE FUNCTION $schema.objection(layout integer, patience integer) RETURNS json LANGUAGE sql VOLATILE AS $objection$
  SELECT CASE
    WHEN layout IS NULL OR layout NOT BETWEEN $oldest AND $layout THEN json_build_object('kind', 'layout', 'layout', $layout)
    WHEN now() <> statement_timestamp() THEN json_build_object('kind', 'in-transaction')
    WHEN set_config('lock_timeout', patience::text, true) IS NULL THEN NULL
  END
$objection$;

-- ← the caller's patience, and the answer, which nobody gets that comes too late: then nothing was done. Not in SQL: that would be made part of the
-- expression that calls it, and ask for the time before there is an answer.
CREATE OR REPLACE FUNCTION $schema.in_time(patience integer, answer json) RETURNS json LANGUAGE plpgsql AS $in_time$ BEGIN
  IF clock_timestamp() > statement_timestamp() + patience * interval '1 millisecond' THEN
    RAISE EXCEPTION 'conclave: took longer than the % ms that were given to it', patience USING ERRCODE = 'query_canceled';
  END IF;
  RETURN answer;
END $in_time$;

-- ← session. Whether it is over by database time; asked only where that judges (expiry "database-clock").
CREATE OR REPLACE FUNCTION $schema.has_lapsed(kept timestamptz, ttl integer) RETURNS boolean LANGUAGE sql VOLATILE AS $lapsed$
  SELECT clock_timestamp() > kept + ttl * interval '1 millisecond'
$lapsed$;

-- ← names. → a row for each, in their order: its version, and what a look shows of it. STABLE, so that it becomes part of the statement that asks (and is
-- planned with that, once a connection), and sees what that statement sees.
CREATE OR REPLACE FUNCTION $schema.places(names text[], by_clock boolean)
RETURNS TABLE (ordinal bigint, name text, version text, seat json, session text, bid text, token bigint) LANGUAGE sql STABLE AS $places$
  SELECT known.ordinal, known.name, known.version,
    json_build_object('name', known.name, 'version', known.version,
      'state', CASE known.state WHEN 'held' THEN 'held' WHEN 'gone' THEN 'missing' WHEN 'orphaned' THEN 'missing' ELSE 'vacant' END,
      'ttl', known.ttl, 'candidate', known.candidate, 'bid', known.bid, 'token', known.token::text,
      'domain', (SELECT domain FROM $schema.meta), 'value', known.value),
    known.session, known.bid, known.token
  FROM (
    SELECT asked.ordinal, asked.name, place.session, place.bid, place.token, place.value, place.ttl, place.candidate, now.state,
      CASE now.state
        WHEN 'never' THEN 'never'
        WHEN 'gone' THEN 'gone ' || place.change
        WHEN 'free' THEN 'free ' || place.change
        WHEN 'orphaned' THEN 'orphaned ' || place.change
        ELSE now.state || ' ' || place.change || ' ' || place.beat
      END AS version
    FROM unnest(names) WITH ORDINALITY AS asked (name, ordinal)
    LEFT JOIN $schema.place ON place.name = asked.name COLLATE "C"
    CROSS JOIN LATERAL (SELECT CASE
      WHEN place.state = 'held' AND by_clock AND $schema.has_lapsed(place.kept, place.ttl) THEN 'lapsed'
      ELSE coalesce(place.state, 'never')
    END AS state) AS now
  ) AS known
  ORDER BY known.ordinal
$places$;

-- ← {session, candidate, ttl, beat, node: {name, machine}}; node may be missing. The same session with the same beat is the same opening, and extends nothing. Also sweeps up what was left long ago.
CREATE OR REPLACE FUNCTION $schema.open(asked json) RETURNS json LANGUAGE plpgsql AS $open$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  my_node text := asked->'node'->>'name';
  known record;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  IF my_node IS NOT NULL THEN
    objection := $schema.node_objection(asked->>'session', my_node, asked->'node'->>'machine');
    IF objection IS NOT NULL THEN RETURN objection; END IF;
  END IF;
  INSERT INTO $schema.session (id, candidate, ttl, beat, kept, node, machine)
    VALUES (asked->>'session', asked->>'candidate', (asked->>'ttl')::integer, coalesce((asked->>'beat')::uuid, gen_random_uuid()), clock_timestamp(), my_node, asked->'node'->>'machine')
    ON CONFLICT DO NOTHING;
  SELECT * INTO known FROM $schema.session WHERE id = asked->>'session';
  IF known.ended IS NOT NULL OR known.banned IS NOT NULL OR known.beat <> (asked->>'beat')::uuid OR ((asked->>'byClock')::boolean AND $schema.has_lapsed(known.kept, known.ttl)) THEN
    RETURN json_build_object('kind', 'session-lost');
  END IF;
  -- Sessions that have been silent for more than a day and hold nothing. To whom they belong they are lost either way.
  DELETE FROM $schema.session WHERE id IN (
    SELECT old.id FROM $schema.session AS old
    WHERE old.kept + (2 * old.ttl) * interval '1 millisecond' < clock_timestamp() - interval '1 day'
      AND NOT EXISTS (SELECT FROM $schema.seat WHERE seat.last_session = old.id AND seat.session = old.id)
    LIMIT 20 FOR UPDATE SKIP LOCKED);
  RETURN $schema.in_time(patience, json_build_object('kind', 'kept', 'candidate', known.candidate, 'ttl', known.ttl, 'beat', asked->'beat', 'node', known.node));
END $open$;

-- ← {session, held, marks, beats}. Leaves the last of the beats, over one of those before it; a caller that names none leaves one of the server's, over any. One row is written, however many seats there are; they are counted, and named only if the count or their sum is another.
CREATE OR REPLACE FUNCTION $schema.keep(asked json) RETURNS json LANGUAGE plpgsql AS $keep$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  mine text := asked->>'session'; -- read once: JSON is read anew wherever it is named
  beats uuid[] := ARRAY(SELECT json_array_elements_text(asked->'beats'))::uuid[];
  known integer := cardinality(beats) - 1;
  kept record;
  standing record;
  requests json;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  UPDATE $schema.session SET beat = coalesce(beats[known + 1], gen_random_uuid()), kept = clock_timestamp()
    WHERE id = mine AND ended IS NULL AND banned IS NULL AND (known < 1 OR session.beat = ANY (beats[1:known]))
      AND NOT ((asked->>'byClock')::boolean AND $schema.has_lapsed(session.kept, session.ttl))
    RETURNING session.candidate, session.ttl INTO kept;
  IF NOT FOUND THEN RETURN json_build_object('kind', 'session-lost'); END IF;
  -- A seat whose last holder has left (session is null) is found here too, and forgotten when there are many of them.
  SELECT count(session) AS held, coalesce(sum(mark) FILTER (WHERE session IS NOT NULL), 0) AS marks, count(*) AS found, count(asked_token) AS asked INTO standing
    FROM $schema.seat WHERE last_session = mine;
  IF standing.found - standing.held > 1000 THEN
    UPDATE $schema.seat SET last_session = '' WHERE name IN (
      SELECT name FROM $schema.seat WHERE last_session = mine AND session IS NULL LIMIT 5000 FOR UPDATE SKIP LOCKED);
  END IF;
  IF standing.asked > 0 THEN
    SELECT json_agg(json_build_object('name', seat.name, 'bid', seat.bid, 'token', seat.asked_token::text, 'domain', meta.domain)) INTO requests
      FROM $schema.seat, $schema.meta WHERE seat.last_session = mine AND seat.session = mine AND seat.asked_token IS NOT NULL;
  END IF;
  IF standing.held = (asked->>'held')::bigint AND standing.marks = (asked->>'marks')::numeric THEN
    RETURN $schema.in_time(patience, json_build_object('kind', 'kept', 'candidate', kept.candidate, 'ttl', kept.ttl, 'beat', beats[known + 1], 'asked', requests));
  END IF;
  RETURN $schema.in_time(patience, json_build_object('kind', 'kept', 'candidate', kept.candidate, 'ttl', kept.ttl, 'beat', beats[known + 1], 'asked', requests, 'seats',
    (SELECT coalesce(json_agg(json_build_object('name', seat.name, 'bid', seat.bid)), '[]'::json) FROM $schema.seat
      WHERE seat.last_session = mine AND seat.session = mine)));
END $keep$;

-- ← claims, and the names in them. → a row for each, in their order, and what becomes of it as things stand. Over 'vacant' the last bid that held the seat
-- is not granted again: that claim was applied before, and comes late.
CREATE OR REPLACE FUNCTION $schema.judge(claims json, names text[], by_clock boolean)
RETURNS TABLE (ordinal bigint, name text, session text, bid text, mark bigint, value text, ttl integer, seat json, token bigint, holder text, verdict text)
LANGUAGE sql STABLE AS $judge$
  SELECT place.ordinal, claim.name, claim.session, claim.bid, claim.mark, claim.value, mine.ttl, place.seat, place.token, place.session,
    CASE
      WHEN mine.id IS NULL THEN 'session-lost'
      WHEN place.session = claim.session AND place.bid = claim.bid THEN 'standing'
      WHEN claim.over = 'vacant' AND place.seat->>'state' = 'vacant' AND place.bid IS DISTINCT FROM claim.bid THEN 'granted'
      WHEN claim.over = place.version THEN 'granted'
      ELSE 'beaten'
    END
  FROM $schema.places(names, by_clock) AS place
  JOIN ROWS FROM (json_to_recordset(claims) AS (name text, session text, bid text, over text, mark bigint, value text))
    WITH ORDINALITY AS claim (name, session, bid, over, mark, value, ordinal) ON claim.ordinal = place.ordinal
  LEFT JOIN $schema.session AS mine ON mine.id = claim.session AND mine.ended IS NULL AND mine.banned IS NULL
    AND NOT (by_clock AND $schema.has_lapsed(mine.kept, mine.ttl))
$judge$;

-- ← one claim, where no clock judges; in words of its own, for they are read quicker than JSON. → {verdict, token, domain}, or what `claim` answers.
CREATE OR REPLACE FUNCTION $schema.take(layout integer, patience integer, wanted text, mine text, my_bid text, over text, my_value text, my_mark bigint)
RETURNS json LANGUAGE plpgsql AS $take$
DECLARE
  objection json := $schema.objection(layout, patience);
  free record;
  my_ttl integer;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  SELECT counter.last + 1 AS token, meta.domain INTO free FROM $schema.counter, $schema.seat, $schema.meta
    WHERE counter.name = wanted AND seat.name = wanted AND seat.session IS NULL
      AND CASE over WHEN 'vacant' THEN seat.bid <> my_bid ELSE over = 'free ' || seat.change END
    FOR UPDATE OF counter, seat;
  IF FOUND THEN SELECT ttl INTO my_ttl FROM $schema.session WHERE id = mine AND ended IS NULL AND banned IS NULL FOR UPDATE; END IF;
  IF my_ttl IS NULL THEN -- the seat is not free, or the session is over; nothing was changed
    RETURN $schema.in_time(patience, $schema.claim_all(json_build_array(json_build_object(
      'name', wanted, 'session', mine, 'bid', my_bid, 'over', over, 'mark', my_mark, 'value', my_value)), false));
  END IF;
  UPDATE $schema.counter SET last = free.token, ttl = my_ttl, change = gen_random_uuid() WHERE name = wanted;
  UPDATE $schema.seat SET session = mine, last_session = mine, bid = my_bid, token = free.token, mark = my_mark, value = my_value, asked_token = NULL, change = gen_random_uuid() WHERE name = wanted;
  RETURN $schema.in_time(patience, json_build_object('kind', 'taken', 'token', free.token::text, 'domain', free.domain));
END $take$;

-- ← {byClock, claims: [{name, session, bid, over, mark, value}]}. → {domain, claimed: [{verdict, token, seat}]}, in their order.
CREATE OR REPLACE FUNCTION $schema.claim(asked json) RETURNS json LANGUAGE plpgsql AS $claim$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  RETURN $schema.in_time(patience, $schema.claim_all(asked->'claims', (asked->>'byClock')::boolean));
END $claim$;

-- What `claim` does, and `take` where it is not simple.
CREATE OR REPLACE FUNCTION $schema.claim_all(claims json, by_clock boolean) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $claim$
DECLARE
  names text[] := ARRAY(SELECT claim->>'name' FROM json_array_elements(claims) AS claim);
  sessions text[];
  claimed json;
BEGIN
  -- Many may claim what one has left. A claim that is beaten finds out without a lock, and keeps nobody waiting.
  IF cardinality(names) = 1 THEN
    SELECT json_build_array(json_build_object('verdict', judged.verdict, 'seat', judged.seat)) INTO claimed
      FROM $schema.judge(claims, names, by_clock) AS judged WHERE judged.verdict = 'beaten';
    IF FOUND THEN RETURN json_build_object('kind', 'claimed', 'domain', (SELECT domain FROM $schema.meta), 'claimed', claimed); END IF;
  END IF;
  INSERT INTO $schema.counter (name, last, ttl, change)
    SELECT asked_name, 0, 1, gen_random_uuid() FROM unnest(names) AS asked_name
    WHERE NOT EXISTS (SELECT FROM $schema.counter WHERE name = asked_name COLLATE "C") ORDER BY asked_name COLLATE "C" ON CONFLICT DO NOTHING;
  PERFORM FROM $schema.counter WHERE name = ANY (names) ORDER BY name FOR UPDATE;
  PERFORM FROM $schema.seat WHERE name = ANY (names) ORDER BY name FOR UPDATE;
  -- As an array: a join with what is asked would read all sessions, since nobody knows beforehand how many are asked for.
  sessions := ARRAY(
    SELECT seat.session FROM $schema.seat WHERE seat.name = ANY (names)
    UNION SELECT claim->>'session' FROM json_array_elements(claims) AS claim);
  PERFORM FROM $schema.session WHERE id = ANY (sessions) ORDER BY id FOR UPDATE;
  WITH judged AS MATERIALIZED (
    SELECT * FROM $schema.judge(claims, names, by_clock)
  ), ended AS (
    UPDATE $schema.session SET ended = 'silent' FROM judged
    WHERE judged.verdict = 'granted' AND session.id = judged.holder AND judged.holder <> judged.session AND session.ended IS NULL
  ), counted AS (
    UPDATE $schema.counter SET last = counter.last + 1, ttl = judged.ttl, change = gen_random_uuid() FROM judged
    WHERE judged.verdict = 'granted' AND counter.name = judged.name
    RETURNING counter.last, judged.ordinal, judged.name, judged.session, judged.bid, judged.mark, judged.value
  ), seated AS (
    INSERT INTO $schema.seat (name, session, last_session, bid, token, mark, value, change)
    SELECT name, session, session, bid, last, mark, value, gen_random_uuid() FROM counted
    ON CONFLICT (name) DO UPDATE SET session = excluded.session, last_session = excluded.session, bid = excluded.bid, token = excluded.token, mark = excluded.mark,
      value = excluded.value, asked_token = NULL, change = excluded.change
  ), announced AS (
    UPDATE $schema.seat SET value = judged.value FROM judged
    WHERE judged.verdict = 'standing' AND seat.name = judged.name AND seat.value <> judged.value
  )
  SELECT json_agg(json_build_object('verdict', judged.verdict, 'token', coalesce(counted.last, judged.token)::text,
      'seat', CASE judged.verdict WHEN 'beaten' THEN judged.seat END) ORDER BY judged.ordinal)
    INTO claimed FROM judged LEFT JOIN counted ON counted.ordinal = judged.ordinal;
  RETURN json_build_object('kind', 'claimed', 'domain', (SELECT domain FROM $schema.meta), 'claimed', claimed);
END $claim$;

-- ← {session, candidate, ttl, beats, holds: [{name, bid}], end}. The end of a session in whose row none of the beats stands is another's affair: nothing is done. A session that was never seen is remembered as over, so that an opening under way finds out.
-- Does not wait for the disk, nor for a replica. If the server dies before it is written, the seat is held again by somebody who no longer believes that: it
-- shows as a stray, or is waited for in silence. A session that was granted the seat meanwhile has waited for the disk, and what was written before is there too.
CREATE OR REPLACE FUNCTION $schema.release(asked json) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $release$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  mine text := asked->>'session'; -- read once: JSON is read anew wherever it is named
  beats uuid[] := ARRAY(SELECT json_array_elements_text(asked->'beats'))::uuid[];
  names text[];
  bids text[];
  hurried text;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  hurried := set_config('synchronous_commit', 'off', true);
  IF (asked->>'end')::boolean THEN
    PERFORM FROM $schema.seat WHERE last_session = mine AND session = mine ORDER BY name FOR UPDATE;
    IF cardinality(beats) > 0 THEN
      PERFORM FROM $schema.session WHERE id = mine AND NOT beat = ANY (beats) FOR UPDATE;
      IF FOUND THEN RETURN json_build_object('kind', 'released'); END IF;
    END IF;
    UPDATE $schema.seat SET session = NULL, change = gen_random_uuid() WHERE last_session = mine AND session = mine;
    INSERT INTO $schema.session (id, candidate, ttl, beat, kept, ended)
      VALUES (mine, asked->>'candidate', (asked->>'ttl')::integer, gen_random_uuid(), clock_timestamp(), 'released')
      ON CONFLICT (id) DO UPDATE SET ended = coalesce(session.ended, 'released');
  ELSE
    names := ARRAY(SELECT hold->>'name' FROM json_array_elements(asked->'holds') AS hold);
    bids := ARRAY(SELECT hold->>'bid' FROM json_array_elements(asked->'holds') AS hold);
    PERFORM FROM $schema.seat WHERE name = ANY (names) AND session = mine ORDER BY name FOR UPDATE;
    UPDATE $schema.seat SET session = NULL, change = gen_random_uuid() FROM unnest(names, bids) AS given (name, bid)
      WHERE seat.name = given.name COLLATE "C" AND seat.bid = given.bid AND seat.session = mine;
  END IF;
  RETURN $schema.in_time(patience, json_build_object('kind', 'released'));
END $release$;

-- ← one hold of a session that stays. As `release`, in fewer words.
CREATE OR REPLACE FUNCTION $schema.give(layout integer, patience integer, given text, mine text, my_bid text) RETURNS json LANGUAGE plpgsql AS $give$
DECLARE
  objection json := $schema.objection(layout, patience);
  hurried text;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  hurried := set_config('synchronous_commit', 'off', true);
  UPDATE $schema.seat SET session = NULL, change = gen_random_uuid() WHERE name = given AND session = mine AND bid = my_bid;
  RETURN $schema.in_time(patience, json_build_object('kind', 'released'));
END $give$;

-- ← {byClock, name, domain, token, bid}: somebody asks the leader of exactly this term to hand over. → {kind: asked}, and every keep of the session that holds the seat
-- shows it, until the name is granted anew; or {kind: not-leading, seats}, and nothing was changed. It is no sign of life: the version of the seat stays.
CREATE OR REPLACE FUNCTION $schema.ask(asked json) RETURNS json LANGUAGE plpgsql AS $ask$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  by_clock boolean := (asked->>'byClock')::boolean;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  -- A grant that comes between is waited for, and judged as it is then: its token is another.
  UPDATE $schema.seat SET asked_token = seat.token FROM $schema.session, $schema.meta
    WHERE seat.name = asked->>'name' COLLATE "C" AND seat.bid = asked->>'bid' AND seat.token::text = asked->>'token' AND meta.domain = asked->>'domain'
      AND session.id = seat.session AND session.ended IS NULL AND NOT (by_clock AND $schema.has_lapsed(session.kept, session.ttl));
  IF NOT FOUND THEN
    RETURN json_build_object('kind', 'not-leading', 'seats', (
      SELECT json_agg(place.seat) FROM $schema.places(ARRAY[asked->>'name'], by_clock) AS place));
  END IF;
  -- No bid has a space: versions of before take it for another holder, and renew at once, too.
  PERFORM pg_notify('$schema', E'asked \n' || (asked->>'name')) WHERE octet_length(asked->>'name') < 7000;
  RETURN $schema.in_time(patience, json_build_object('kind', 'asked'));
END $ask$;

-- ← {byClock, names}. → {seats}, in their order. Changes nothing, and works on a replica.
CREATE OR REPLACE FUNCTION $schema.look(asked json) RETURNS json LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $look$
DECLARE
  patience integer := (asked->>'patience')::integer;
  objection json := $schema.objection((asked->>'layout')::integer, patience);
  by_clock boolean := (asked->>'byClock')::boolean;
  names text[];
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  names := ARRAY(SELECT json_array_elements_text(asked->'names'));
  RETURN json_build_object('kind', 'seen', 'seats', (
    SELECT coalesce(json_agg(place.seat ORDER BY place.ordinal), '[]'::json) FROM $schema.places(names, by_clock) AS place));
END $look$;

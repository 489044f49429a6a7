-- Nodes and bans: to a session of a banned node nothing is granted. Tables of before get these with the next run of the script; until then a ban, and a session with a node, is
-- refused, and nothing else is.
--
-- INVARIANT  a row of ban stands exactly while the memo of that ban says so: the transaction that writes the one writes the other
-- INVARIANT  a session of a node against which a ban has stood since it was opened is marked `banned`, for ever; its seats are held until its ttl has run out
CREATE TABLE IF NOT EXISTS $schema.node (
  name text COLLATE "C" PRIMARY KEY         -- there to be locked: openings for a node and bans of it take turns
);
CREATE TABLE IF NOT EXISTS $schema.ban (
  node text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,           -- the election that has banned it
  PRIMARY KEY (node, name)
);
CREATE INDEX IF NOT EXISTS session_node ON $schema.session (node) WHERE node IS NOT NULL;

-- ← what `write_memo` is asked, and {ban: {node, stands, endsSessions}}. → what it answers; or {kind: unbanned}, and nothing was changed.
--
-- Why nothing is granted to a session of the node after this is committed: `open` locks the row of the node before it looks at the bans, and so does this; so a session is opened
-- before, and is marked here, or finds the ban. Every claim, keep and memo asks for a session that is not marked, under the lock of its row, and the mark is set
-- under the same lock.
-- The sessions of the node are locked last, out of the order of claims. A claim that waits for ours while we wait for it is taken back by Postgres, and tried again.
--
-- `endsSessions` (lease/ban-rule.ts, rule 6): the row of the node is locked, so that the ban which is found here stands until this is committed, and no session is opened meanwhile. Only marked
-- sessions are ended: those that a ban has met. `ended` has no word of its own for it, because tables of before refuse other words than theirs.
CREATE OR REPLACE FUNCTION $schema.write_ban(asked json) RETURNS json LANGUAGE plpgsql AS $write_ban$
DECLARE
  objection json := $schema.objection((asked->>'layout')::integer, (asked->>'patience')::integer);
  target text := asked->'ban'->>'node';
  ends boolean := coalesce((asked->'ban'->>'endsSessions')::boolean, false);
  answer json;
BEGIN
  IF objection IS NOT NULL THEN RETURN objection; END IF;
  INSERT INTO $schema.node (name) VALUES (target) ON CONFLICT DO NOTHING;
  PERFORM FROM $schema.node WHERE name = target FOR UPDATE;
  IF ends AND NOT EXISTS (SELECT FROM $schema.ban WHERE node = target AND name = asked->>'name') THEN
    RETURN json_build_object('kind', 'unbanned');
  END IF;
  answer := $schema.write_memo(asked);
  IF answer->>'kind' <> 'written' THEN RETURN answer; END IF;
  IF (asked->'ban'->>'stands')::boolean THEN
    INSERT INTO $schema.ban (node, name) VALUES (target, asked->>'name') ON CONFLICT DO NOTHING;
    UPDATE $schema.session SET banned = true WHERE node = target AND banned IS NULL AND NOT ends;
    IF ends AND (SELECT count(DISTINCT machine) FROM $schema.session WHERE node = target AND ended IS NULL) < 2 THEN
      UPDATE $schema.session SET ended = 'released' WHERE node = target AND banned AND ended IS NULL;
    END IF;
  ELSE
    DELETE FROM $schema.ban WHERE node = target AND name = asked->>'name';
  END IF;
  RETURN answer;
END $write_ban$;

-- ← an opening with a node. → null, and the row of the node is locked; or why not: {kind: banned, by}, {kind: twin}.
CREATE OR REPLACE FUNCTION $schema.node_objection(mine text, wanted text, my_machine text) RETURNS json LANGUAGE plpgsql AS $node_objection$
DECLARE
  elections json;
BEGIN
  INSERT INTO $schema.node (name) VALUES (wanted) ON CONFLICT DO NOTHING;
  PERFORM FROM $schema.node WHERE name = wanted FOR UPDATE;
  SELECT json_agg(ban.name ORDER BY ban.name) INTO elections FROM $schema.ban WHERE ban.node = wanted;
  IF elections IS NOT NULL THEN RETURN json_build_object('kind', 'banned', 'by', elections); END IF;
  -- By database time: this is no judgement about who leads. A session that has been silent for two ttls is not waited for.
  PERFORM FROM $schema.session WHERE node = wanted AND machine <> my_machine AND id <> mine AND ended IS NULL
    AND kept + (2 * ttl) * interval '1 millisecond' > clock_timestamp();
  IF FOUND THEN RETURN json_build_object('kind', 'twin'); END IF;
  RETURN NULL;
END $node_objection$;

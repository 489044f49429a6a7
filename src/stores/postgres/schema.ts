// What `conclave schema postgres` prints: tables, the rules that hold for every writer, and what a role needs. Text only. Run once by an owner;
// running it again changes nothing. The functions that candidates call are in functions.ts.
//
//   meta      one row: the number of this layout, and the token domain (random, made with the tables)
//   session   a candidate's standing, renewed alone: a keep writes this row and no other, unless many seats were left behind
//   seat      a name → the session that holds it; without a session it is vacant. The row stays when it is given back
//   counter   a name → its last token. Never deleted: a trigger refuses, whichever role tries
//   place     a view for people and for the functions: what stands at each name
//
// INVARIANT  counter.last ≥ every token granted for the name; it grows in the transaction that grants
// INVARIANT  `beat` and `change` are drawn at random and never come again, also if a replica is promoted that has forgotten the last of them: a counted
//            version would be counted twice then
// INVARIANT  an ended session never lives again, and everything it holds is vacant from then on
import { FUNCTIONS } from "./functions.ts";

export const LAYOUT = 1;

/** Whom a script and its functions serve. */
export interface Served {
  readonly layout: number;
  /** The one before, as soon as there is one. */
  readonly oldest: number;
}
const SERVED: Served = { layout: LAYOUT, oldest: 1 };

export const DEFAULT_SCHEMA = "conclave";

/** A plain name needs no quotes, and none of our texts is surprised by it. */
export function isPlainName(name: string): boolean {
  return /^[a-z_][a-z0-9_]{0,50}$/.test(name) && !name.startsWith("pg_");
}

/** The whole script. `role`: who else may stand in elections, beside the owner. */
export function schemaSql(schema: string, role?: string, served: Served = SERVED): string {
  const parts = [
    "BEGIN;",
    within(schema, LOCK, served),
    bodySql(schema, served),
    ...(role === undefined ? [] : [grantSql(schema, role)]),
    "COMMIT;\n",
  ];
  return parts.join("\n");
}

function bodySql(schema: string, served: Served = SERVED): string {
  return [TABLES, RULES, FUNCTIONS, NOTICES].map((part) => within(schema, part, served)).join("\n");
}

/** The same as one statement, which does nothing unless the schema is empty. `domain`: of the tokens; so that the maker knows that it was the one. */
export function makingSql(schema: string, domain: string, patienceMs: number): string {
  const body = bodySql(schema).replace("'postgres-' || gen_random_uuid()", `'${domain}'`);
  return within(schema, MAKING)
    .replace("$patience", `${patienceMs}`)
    .replace("$body", () => body);
}

/** What a role needs, and no more. */
export function grantSql(schema: string, role: string): string {
  return within(schema, GRANTS).replaceAll("$role", () => `"${role.replaceAll('"', '""')}"`);
}

const within = (schema: string, sql: string, { layout, oldest }: Served = SERVED): string =>
  sql.replaceAll("$schema", schema).replaceAll("$layout", `${layout}`).replaceAll("$oldest", `${oldest}`);

/** Whoever makes or updates these tables waits for whoever does so already. */
const LOCK = `
DO $lock$ BEGIN PERFORM pg_advisory_xact_lock(hashtextextended('conclave $schema', 0)); END $lock$;
`;

const MAKING = `DO $making$ BEGIN
  PERFORM set_config('lock_timeout', '$patience', true), pg_advisory_xact_lock(hashtextextended('conclave $schema', 0));
  IF EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('$schema'))
    OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('$schema')) THEN RETURN; END IF;
  EXECUTE $script$ $body $script$;
END $making$`;

const TABLES = `
DO $begin$ BEGIN
  IF to_regnamespace('$schema') IS NULL THEN CREATE SCHEMA $schema; END IF;
END $begin$;
CREATE TABLE IF NOT EXISTS $schema.meta (
  single boolean PRIMARY KEY DEFAULT true CHECK (single),
  layout integer NOT NULL,
  domain text NOT NULL CHECK (domain <> '')
);
INSERT INTO $schema.meta (layout, domain) VALUES ($layout, 'postgres-' || gen_random_uuid()) ON CONFLICT DO NOTHING;
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
  ttl integer NOT NULL CHECK (ttl > 0),   -- of the last holder, for whoever finds the seat missing
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
`;

/** After an update, not before it: a trigger before it would lock the row in a step of its own, whatever its WHEN says. What is refused is undone either way. */
const RULES = `
CREATE OR REPLACE FUNCTION $schema.refuse() RETURNS trigger LANGUAGE plpgsql AS $refuse$ BEGIN
  RAISE EXCEPTION 'conclave: %', TG_ARGV[0];
END $refuse$;
CREATE OR REPLACE TRIGGER counter_stays BEFORE DELETE ON $schema.counter FOR EACH ROW
  EXECUTE FUNCTION $schema.refuse('a counter is never deleted, or its tokens would begin again');
CREATE OR REPLACE TRIGGER counter_stays_whole BEFORE TRUNCATE ON $schema.counter FOR EACH STATEMENT
  EXECUTE FUNCTION $schema.refuse('a counter is never deleted, or its tokens would begin again');
CREATE OR REPLACE TRIGGER counter_grows AFTER UPDATE ON $schema.counter FOR EACH ROW WHEN (NEW.last < OLD.last OR NEW.name <> OLD.name)
  EXECUTE FUNCTION $schema.refuse('a token never falls');
-- A keep knows its seats by a sum of name and bid, which would not show it.
CREATE OR REPLACE TRIGGER seat_keeps_its_name AFTER UPDATE ON $schema.seat FOR EACH ROW WHEN (NEW.name <> OLD.name)
  EXECUTE FUNCTION $schema.refuse('a seat is not renamed; delete it');
CREATE OR REPLACE TRIGGER meta_stays BEFORE DELETE ON $schema.meta FOR EACH ROW
  EXECUTE FUNCTION $schema.refuse('the token domain belongs to these tables');
CREATE OR REPLACE TRIGGER meta_stays_whole BEFORE TRUNCATE ON $schema.meta FOR EACH STATEMENT
  EXECUTE FUNCTION $schema.refuse('the token domain belongs to these tables');
CREATE OR REPLACE TRIGGER ended_is_final AFTER UPDATE ON $schema.session FOR EACH ROW WHEN (OLD.ended IS NOT NULL AND NEW.ended IS NULL)
  EXECUTE FUNCTION $schema.refuse('a session that has ended never lives again');
`;

/**
 * Hints on the channel that is named like the schema: the bid that holds the seat or nothing, a line feed, the name. Also for what is done by hand. Once a
 * statement, however many seats it touches.
 */
const NOTICES = `
CREATE OR REPLACE FUNCTION $schema.seats_changed() RETURNS trigger LANGUAGE plpgsql AS $changed$ BEGIN
  PERFORM pg_notify('$schema', CASE WHEN session IS NULL THEN '' ELSE bid END || E'\\n' || name) FROM changed
    WHERE octet_length(bid) + octet_length(name) < 7000 AND last_session <> '';
  RETURN NULL;
END $changed$;
CREATE OR REPLACE TRIGGER seats_come AFTER INSERT ON $schema.seat REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION $schema.seats_changed();
CREATE OR REPLACE TRIGGER seats_change AFTER UPDATE ON $schema.seat REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION $schema.seats_changed();
CREATE OR REPLACE FUNCTION $schema.seats_gone() RETURNS trigger LANGUAGE plpgsql AS $gone$ BEGIN
  -- Absence has versions too.
  UPDATE $schema.counter SET change = gen_random_uuid() WHERE name IN (SELECT gone.name FROM gone);
  PERFORM pg_notify('$schema', E'\\n' || name) FROM gone WHERE octet_length(name) < 7000;
  RETURN NULL;
END $gone$;
CREATE OR REPLACE TRIGGER seats_go AFTER DELETE ON $schema.seat REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION $schema.seats_gone();
CREATE OR REPLACE FUNCTION $schema.session_over() RETURNS trigger LANGUAGE plpgsql AS $over$ BEGIN
  PERFORM pg_notify('$schema', E'\\n' || name) FROM $schema.seat
    WHERE last_session = OLD.id AND session = OLD.id AND octet_length(name) < 7000;
  RETURN NULL;
END $over$;
CREATE OR REPLACE TRIGGER session_ended AFTER UPDATE ON $schema.session FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL)
  EXECUTE FUNCTION $schema.session_over();
CREATE OR REPLACE TRIGGER session_gone AFTER DELETE ON $schema.session FOR EACH ROW EXECUTE FUNCTION $schema.session_over();
`;

const GRANTS = `
-- A candidate reads and writes rows; it may not change tables, nor delete a counter. LISTEN and NOTIFY need no right.
GRANT USAGE ON SCHEMA $schema TO $role;
GRANT SELECT ON $schema.meta, $schema.place TO $role;
GRANT SELECT, INSERT, UPDATE ON $schema.counter, $schema.seat TO $role;
GRANT SELECT, INSERT, UPDATE, DELETE ON $schema.session TO $role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA $schema TO $role;
`;

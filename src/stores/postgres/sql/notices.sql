-- Hints on the channel that is named like the schema: the bid that holds the seat or nothing, a line feed, the name. Also for what is done by hand. Once a
-- statement, however many seats it touches.
CREATE OR REPLACE FUNCTION $schema.seats_changed() RETURNS trigger LANGUAGE plpgsql AS $changed$ BEGIN
  PERFORM pg_notify('$schema', CASE WHEN session IS NULL THEN '' ELSE bid END || E'\n' || name) FROM changed
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
  PERFORM pg_notify('$schema', E'\n' || name) FROM gone WHERE octet_length(name) < 7000;
  RETURN NULL;
END $gone$;
CREATE OR REPLACE TRIGGER seats_go AFTER DELETE ON $schema.seat REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION $schema.seats_gone();
CREATE OR REPLACE FUNCTION $schema.session_over() RETURNS trigger LANGUAGE plpgsql AS $over$ BEGIN
  PERFORM pg_notify('$schema', E'\n' || name) FROM $schema.seat
    WHERE last_session = OLD.id AND session = OLD.id AND octet_length(name) < 7000;
  RETURN NULL;
END $over$;
CREATE OR REPLACE TRIGGER session_ended AFTER UPDATE ON $schema.session FOR EACH ROW WHEN (OLD.ended IS NULL AND NEW.ended IS NOT NULL)
  EXECUTE FUNCTION $schema.session_over();
CREATE OR REPLACE TRIGGER session_gone AFTER DELETE ON $schema.session FOR EACH ROW EXECUTE FUNCTION $schema.session_over();

-- Rules that hold for every writer. After an update, not before it: a trigger before it would lock the row in a step of its own, whatever its WHEN says.
-- What is refused is undone either way.
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

-- A process that makes or updates these tables waits until every other one has done so.
DO $lock$ BEGIN PERFORM pg_advisory_xact_lock(hashtextextended('conclave $schema', 0)); END $lock$;

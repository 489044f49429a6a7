-- Whoever makes or updates these tables waits for whoever does so already.
DO $lock$ BEGIN PERFORM pg_advisory_xact_lock(hashtextextended('conclave $schema', 0)); END $lock$;

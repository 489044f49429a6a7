-- The whole script as one statement, which does nothing unless the schema is empty. Patience in ms.
DO $making$ BEGIN
  PERFORM set_config('lock_timeout', '$patience', true), pg_advisory_xact_lock(hashtextextended('conclave $schema', 0));
  IF EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('$schema'))
    OR EXISTS (SELECT FROM pg_proc WHERE pronamespace = to_regnamespace('$schema')) THEN RETURN; END IF;
  EXECUTE $script$ $body $script$;
END $making$

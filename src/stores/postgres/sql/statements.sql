-- Statements beside the functions, by their names. ← is what goes in, → what comes out.

-- IS_DOMAIN
-- ← a domain. → mine: whether it is that of the tables.
SELECT domain = $domain AS mine FROM $schema.meta;

-- LIST_NAMES
-- ← how many at most. → a JSON array of names in order: all that have ever been led. No function, so that those of an older layout need not have it.
SELECT coalesce(json_agg(name), '[]')::text FROM (SELECT name FROM $schema.counter ORDER BY name LIMIT $most) found;

-- NOTIFY
-- ← a word for those who listen to the schema.
SELECT pg_notify('$schema', $word);

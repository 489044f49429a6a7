-- What a role needs, and no more.
-- A candidate reads and writes rows; it may not change tables, nor delete a counter. LISTEN and NOTIFY need no right.
GRANT USAGE ON SCHEMA $schema TO $role;
GRANT SELECT ON $schema.meta, $schema.place TO $role;
GRANT SELECT, INSERT, UPDATE ON $schema.counter, $schema.seat, $schema.memo TO $role;
GRANT SELECT, INSERT, UPDATE, DELETE ON $schema.session TO $role;
GRANT SELECT, INSERT, UPDATE ON $schema.node TO $role;
GRANT SELECT, INSERT, DELETE ON $schema.ban TO $role;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA $schema TO $role;

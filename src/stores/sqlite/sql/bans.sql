-- Nodes and bans, made with the first session that names a node, and with the first ban; also in files of before.
--
-- INVARIANT  a row of conclave_ban stands exactly while the memo of that ban says so: the transaction that writes the one writes the other (memos.ts)
CREATE TABLE IF NOT EXISTS conclave_node (
  session TEXT PRIMARY KEY NOT NULL,
  node TEXT NOT NULL,
  machine TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS conclave_ban (
  node TEXT NOT NULL,
  name TEXT NOT NULL,                       -- the election that has banned it
  PRIMARY KEY (node, name)
) STRICT, WITHOUT ROWID;

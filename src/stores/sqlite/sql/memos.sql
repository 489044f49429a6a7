-- The table of memos: made with the file, and in a file of before with its first memo. It lies beside the counters, because seats can be deleted.
--
-- INVARIANT  a row is written only by a transaction that has found the seat of its name with this token (memos.ts)
CREATE TABLE IF NOT EXISTS conclave_memo (
  name TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  token INTEGER NOT NULL CHECK (token > 0), -- of the term that wrote it
  bid TEXT NOT NULL,
  n INTEGER NOT NULL CHECK (n > 0),         -- counts the writes of the key in that term
  PRIMARY KEY (name, key)
) STRICT, WITHOUT ROWID;

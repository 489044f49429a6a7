-- The table of blocks of tokens (blocks.ts), made with the file, and in a file of an earlier version when it is opened. That version works with the file as before.
--
-- INVARIANT  a row's `last` ≤ the `last` of its name's counter: the transaction that writes the row has raised the counter so far, and is synced before it is answered
-- The block of a row may be used only while the two are equal. Each token that is taken from the counter raises it, and thereby ends the block, also if it was taken by an earlier version that does not know this table.
CREATE TABLE IF NOT EXISTS conclave_block (
  name TEXT PRIMARY KEY NOT NULL,
  session TEXT NOT NULL,                    -- the one that may take tokens from the block
  last INTEGER NOT NULL CHECK (last > 0),   -- the last token of the block
  boot TEXT NOT NULL                        -- the boot id of the kernel under which the block was reserved
) STRICT, WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS conclave_block_session ON conclave_block (session);

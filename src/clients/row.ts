// One row that a database answers with, whichever client read it: the values by the names of their columns. Nobody has looked at the values yet.
export type Row = Readonly<Record<string, unknown>>;

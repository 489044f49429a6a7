// The SQL of `sqlite:`, by its names. sql/statements.sql says above each statement what it needs and answers; sql/tables.sql has the tables.
import { statementsOf } from "../../base/sql-text.ts";
import { sql as CREATE } from "./sql/tables.sql";
import { sql as CREATE_BANS } from "./sql/bans.sql";
import { sql as CREATE_MEMOS } from "./sql/memos.sql";
import { sql as STATEMENTS } from "./sql/statements.sql";

export { CREATE, CREATE_BANS, CREATE_MEMOS };

export const SCHEMA_VERSION = 1;

const statement = statementsOf(STATEMENTS);

export const TABLES: string = statement("TABLES");
export const LIST_NAMES: string = statement("LIST_NAMES");
export const CREATE_META: string = statement("CREATE_META");
export const READ_META: string = statement("READ_META");
export const LAST_CHANGE: string = statement("LAST_CHANGE");
export const DATA_VERSION: string = statement("DATA_VERSION");
export const CHANGED_SINCE: string = statement("CHANGED_SINCE");
export const LOOK: string = statement("LOOK");
export const READ_SESSION: string = statement("READ_SESSION");
export const OPEN_SESSION: string = statement("OPEN_SESSION");
export const KEEP_SESSION: string = statement("KEEP_SESSION");
export const AUDIT: string = statement("AUDIT");
export const SEATS_OF: string = statement("SEATS_OF");
export const NEXT_TOKEN: string = statement("NEXT_TOKEN");
export const NEXT_TOKEN_IF_FREE: string = statement("NEXT_TOKEN_IF_FREE");
export const TAKE_SEAT: string = statement("TAKE_SEAT");
export const SET_VALUE: string = statement("SET_VALUE");
export const VACATE: string = statement("VACATE");
export const VACATE_ALL: string = statement("VACATE_ALL");
export const END_SESSION: string = statement("END_SESSION");
export const END_EXPIRED: string = statement("END_EXPIRED");
export const FORGET_ENDED: string = statement("FORGET_ENDED");
export const LIVE_SOCKETS: string = statement("LIVE_SOCKETS");
export const CREATE_ASKED: string = statement("CREATE_ASKED");
export const ASK_TO_LEAVE: string = statement("ASK_TO_LEAVE");
export const ASKED_OF: string = statement("ASKED_OF");
export const FORGET_ASKED: string = statement("FORGET_ASKED");
export const ALL_ASKED: string = statement("ALL_ASKED");
export const CREATE_INVITED: string = statement("CREATE_INVITED");
export const INVITE: string = statement("INVITE");
export const ALL_INVITED: string = statement("ALL_INVITED");
export const HAS_MEMOS: string = statement("HAS_MEMOS");
export const IS_HELD: string = statement("IS_HELD");
export const READ_MEMO: string = statement("READ_MEMO");
export const READ_MEMOS: string = statement("READ_MEMOS");
export const COUNT_MEMOS: string = statement("COUNT_MEMOS");
export const WRITE_MEMO: string = statement("WRITE_MEMO");
export const HAS_BANS: string = statement("HAS_BANS");
export const BANS_OF: string = statement("BANS_OF");
export const TWINS_OF: string = statement("TWINS_OF");
export const RECORD_NODE: string = statement("RECORD_NODE");
export const FORGET_NODES: string = statement("FORGET_NODES");
export const BAN: string = statement("BAN");
export const LIFT: string = statement("LIFT");
export const VACATE_NODE: string = statement("VACATE_NODE");
export const END_NODE: string = statement("END_NODE");

// The counts of a hunt for STONITH. A hunt in which no node was shot, no device lied, and no shooter came late has tested nothing.

export type StonithTally =
  | "works begun"
  | "clean releases"
  | "works that went on after their term"
  | "works that survived their process"
  | "intents opened"
  | "intents joined by another term"
  | "shots"
  | "shots that hit"
  | "nodes verified off"
  | "devices that lied"
  | "devices that hung"
  | "devices that failed"
  | "devices that worked and said nothing"
  | "shots of a term that was over"
  | "shooters struck between two steps"
  | "bans lifted"
  | "bans that outlasted the takeover"
  | "banned nodes that returned"
  | "sessions ended early"
  | "notes of work that ended"
  | "notes of agents that are gone"
  | "fenced by a watchdog"
  | "orders to fence"
  | "confirmations by a human"
  | "confirmations refused"
  | "shots refused by a limit"
  | "terms given up for another node"
  | "records refused to a replaced leader";

/** The minima for a thousand seeds. */
export const STONITH_MINIMA: Readonly<Record<StonithTally, number>> = {
  "works begun": 7000,
  "clean releases": 6000,
  "works that went on after their term": 50,
  "works that survived their process": 45,
  "intents opened": 550,
  "intents joined by another term": 600,
  shots: 950,
  "shots that hit": 300,
  "nodes verified off": 350,
  "devices that lied": 100,
  "devices that hung": 90,
  "devices that failed": 95,
  "devices that worked and said nothing": 55,
  "shots of a term that was over": 15,
  "shooters struck between two steps": 1000,
  "bans lifted": 500,
  "bans that outlasted the takeover": 85,
  "banned nodes that returned": 250,
  "sessions ended early": 50,
  "notes of work that ended": 400,
  "notes of agents that are gone": 950,
  "fenced by a watchdog": 20,
  "orders to fence": 700,
  "confirmations by a human": 700,
  "confirmations refused": 350,
  "shots refused by a limit": 200,
  "terms given up for another node": 150,
  "records refused to a replaced leader": 250,
};

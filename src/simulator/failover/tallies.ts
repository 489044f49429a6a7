// The counts of a hunt for failovers. A hunt in which no server was promoted, no process died between two steps, and no request stayed unanswered has tested nothing.

/** The minima for a thousand seeds. */
export const FAILOVER_MINIMA = {
  writes: 100_000,
  acknowledged: 50_000,
  promotions: 2000,
  "first primaries": 900,
  "automatic failovers": 800,
  switchovers: 100,
  "switchovers given up": 5,
  "leaders struck between two steps": 500,
  "steps resumed by another leader": 300,
  "records refused to a replaced leader": 20,
  "fences by the seat": 1500,
  "fences by a device": 100,
  "devices that failed or said nothing": 20,
  "terms given up for another way to the device": 5,
  "terms given up for a monitor that sees more": 20,
  "guards killed or cut while primary": 300,
  "services killed by their keeper": 100,
  "seats given back unused": 5,
  "promotions without an answer": 100,
  "old primaries taken back": 300,
  "replicas mended": 40,
  "choices that waited": 300,
  strays: 100,
  "strays taken back": 50,
  "writes taken while taken for down": 500,
  "acknowledged writes lost without synchrony": 100,
} as const;

export type FailoverTally = keyof typeof FAILOVER_MINIMA;

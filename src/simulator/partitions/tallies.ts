// What a hunt for partitions has exercised. A hunt in which no leader was paused, nothing was revoked and no write came late has tested nothing.

/** The least counts in a thousand seeds. */
export const PARTITION_MINIMA = {
  begun: 10_000,
  sessions: 3000,
  controllers: 2000,
  deaths: 1000,
  revoked: 1000,
  "handed over by ack": 500,
  "taken from the dead": 2000,
  "acks with work still running": 100,
  "ended by somebody's own deadline": 300,
  "writes refused to a replaced controller": 20,
  "writes sent again and found written": 50,
  "acks refused to a replaced session": 5,
  unanswered: 1000,
  "chunks read out of order": 100,
  "led again under the same controller": 300,
  "led again under another controller": 300,
  "led again after more than a ttl and a renewal": 50,
  "worlds with weights": 100,
  "worlds with zones": 100,
  "worlds with preferred members": 100,
  "members restarted into their seat": 300,
} as const;

export type PartitionTally = keyof typeof PARTITION_MINIMA;

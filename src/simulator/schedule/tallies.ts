// What a hunt for schedules has exercised. A hunt in which nothing was lost, repeated or left unanswered has tested nothing.

/** The least counts in a thousand seeds. */
export const SCHEDULE_MINIMA = {
  begun: 10_000,
  ran: 10_000,
  lost: 100,
  repeated: 100,
  "catch-ups": 1000,
  "left out": 100,
  "unfinished found": 100,
  "marks unanswered": 500,
  "marks sent again and found written": 100,
  "marks refused to a replaced term": 20,
  "not begun after the mark": 5,
  "done in the drain": 5,
  terms: 3000,
  deaths: 1000,
  "marks ahead of the clock": 20,
} as const;

export type ScheduleTally = keyof typeof SCHEDULE_MINIMA;

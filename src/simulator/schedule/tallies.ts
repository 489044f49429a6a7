// What a hunt for schedules has exercised. A hunt in which nothing was lost, repeated or left unanswered has tested nothing.

export type ScheduleTally =
  | "begun"
  | "ran"
  | "lost"
  | "repeated"
  | "catch-ups"
  | "left out"
  | "unfinished found"
  | "marks unanswered"
  | "marks sent again and found written"
  | "marks refused to a replaced term"
  | "not begun after the mark"
  | "done in the drain"
  | "terms"
  | "deaths"
  | "marks ahead of the clock";

export type ScheduleTallies = Record<ScheduleTally, number>;

/** In a thousand seeds, at least. */
export const SCHEDULE_MINIMA: Readonly<ScheduleTallies> = {
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
};

export function emptyScheduleTallies(): ScheduleTallies {
  return Object.fromEntries(Object.keys(SCHEDULE_MINIMA).map((name) => [name, 0])) as ScheduleTallies;
}

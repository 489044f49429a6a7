// The longest time for setTimeout and AbortSignal.timeout. What is longer counts as 1 ms there, so that a wait of a month would be over at once.

export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

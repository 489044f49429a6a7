// Many writes of one call: a few are sent side by side, and the others when these are answered.

const SIDE_BY_SIDE = 32;

/** Answers in the order of `things`. */
export async function inTurns<T, A>(things: readonly T[], act: (thing: T, index: number) => Promise<A>): Promise<A[]> {
  const answers: A[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < things.length; index = next++)
      answers[index] = await act(things[index] as T, index);
  };
  await Promise.all(Array.from({ length: Math.min(SIDE_BY_SIDE, things.length) }, work));
  return answers;
}

// Inputs are handed to a machine one at a time.
import { expect, it } from "vitest";
import { InputQueue } from "../../src/base/input-queue.ts";

type Input = { readonly name: string; readonly brings?: readonly Input[] };

it("handles an input that comes inside a step when that step is over, in the order in which they came, and rests once", () => {
  const story: string[] = [];
  const queue = new InputQueue<Input>(
    ({ name, brings = [] }) => {
      story.push(`${name} begins`);
      for (const input of brings) queue.put(input);
      story.push(`${name} ends`);
    },
    () => story.push("at rest"),
  );
  queue.put({ name: "a", brings: [{ name: "b", brings: [{ name: "d" }] }, { name: "c" }] });
  const steps = ["a", "b", "c", "d"].flatMap((name) => [`${name} begins`, `${name} ends`]);
  expect(story).toEqual([...steps, "at rest"]);
  expect(queue.isStepping).toBe(false);
});

it("is not stuck after a step that threw: what waited is handled at the next input", () => {
  const seen: string[] = [];
  const queue = new InputQueue<Input>(({ name, brings = [] }) => {
    seen.push(name);
    for (const input of brings) queue.put(input);
    if (name === "a") throw new Error("a");
  });
  expect(() => queue.put({ name: "a", brings: [{ name: "b" }] })).toThrow("a");
  expect(seen).toEqual(["a"]);
  queue.put({ name: "c" });
  expect(seen).toEqual(["a", "b", "c"]);
});

// A command of the operator: an exit code alone never means off.
import { command, type Power } from "conclave/stonith";
import { afterAll, describe, expect, it } from "vitest";
import { commandLinesWith, ShootingRange } from "./range.ts";

const range = new ShootingRange();
afterAll(() => range.end());
const sh = (text: string): readonly ["/bin/sh", "-c", string, "sh", "{node}"] => [
  "/bin/sh",
  "-c",
  text,
  "sh",
  "{node}",
];

describe("a command", () => {
  it("says on by 0, off by 2 and the word, and otherwise nothing", async () => {
    const call = await range.call();
    const status = (text: string): Promise<Power> =>
      command({ name: "c", status: sh(text), off: sh("") }).status("db-1", call);
    expect(await status("exit 0")).toEqual({ is: "on" });
    expect(await status("echo power is off; exit 2")).toEqual({ is: "off" });
    for (const text of ["exit 2", "if then", "echo off; exit 1", "kill -9 $$", "echo officially; exit 2"])
      expect(await status(text), text).toMatchObject({ is: "unknown" });
  });

  it("is told the node in its arguments, and secrets in its environment", async () => {
    const call = await range.call();
    const secret = "a-token-of-an-api";
    const env = { TOKEN: { file: range.secret("token", secret) }, REGION: "eu" };
    const device = command({
      name: "c",
      status: sh(""),
      off: sh(
        'test "$1" = db-1 && test "$REGION" = eu && test -n "$TOKEN" && echo "$TOKEN" >&2 && sleep 0.2 && exit 3',
      ),
      env,
    });
    let answer: unknown;
    const seen = await commandLinesWith(secret, async () => (answer = await device.setPower("db-1", "off", call)));
    expect(answer).toEqual({ is: "unknown", why: "the command of off: exit code 3: [secret]" });
    expect(seen).toEqual([]);
  });

  it("that exits with 0 was told; nothing is off by that", async () => {
    const call = await range.call();
    const liar = command({ name: "liar", status: sh("exit 0"), off: sh("exit 0") });
    expect(await liar.setPower("db-1", "off", call)).toEqual({ is: "taken" });
    expect(await liar.status("db-1", call)).toEqual({ is: "on" });
  });
});

import { describe, expect, it } from "vitest";
import type { ServerSpec } from "conclave/failover";
import { parseControl } from "../../src/failover/postgres-control.ts";
import { conninfoTo, leftAt, type ViewRow, standbyNames, viewOf } from "../../src/failover/postgres-view.ts";

function server(name: string, url: string): ServerSpec {
  const { hostname, port } = new URL(url);
  return { name, url, host: hostname, port: Number(port || 5432), priority: 100 };
}

const SERVERS = { a: server("a", "postgres://u@10.0.0.1:5432/x"), b: server("b", "postgres://u@10.0.0.2:5433/x") };

const HISTORY = "1\t0/5000060\tno recovery target specified\n\n4\t1/A0\tno recovery target specified\n";

const STANDBY: ViewRow = {
  standby: true,
  system: "77",
  pid: 12,
  conninfo: "host='10.0.0.2' port='5433' user='u' application_name='a'",
  position: "900",
  received: "1000",
  waits: "RecoveryWalStream",
  receiver: "streaming",
  timeline: "0000000A",
  history: HISTORY,
};

describe("what a server of PostgreSQL says of itself", () => {
  it("of a standby is what it has received, on the timeline of that, with those before", () => {
    expect(viewOf(STANDBY, SERVERS)).toEqual({
      is: "up",
      role: "replica",
      history: "77/10",
      ancestors: ["77/4", "77/1"],
      generation: 10,
      position: 1000,
      follows: "b",
      isLinked: true,
      isEmpty: false,
    });
    // After a restart the receiver begins at the start of a file of the log: what was replayed is more.
    expect(viewOf({ ...STANDBY, received: "512" }, SERVERS)).toMatchObject({ position: 900 });
  });

  it("is unknown while it may have more in its folder than it has replayed", () => {
    const started = { ...STANDBY, received: null, receiver: "" };
    expect(viewOf({ ...started, waits: null }, SERVERS)).toEqual({ is: "unknown" });
    expect(viewOf({ ...started, waits: "DataFileRead" }, SERVERS)).toEqual({ is: "unknown" });
    expect(viewOf({ ...started, waits: "RecoveryRetrieveRetryInterval" }, SERVERS)).toMatchObject({ position: 900 });
  });

  it("of a primary is what it has written, and it follows nobody, whatever its settings say", () => {
    const primary = { ...STANDBY, standby: false, received: null, waits: null, receiver: "" };
    expect(viewOf(primary, SERVERS)).toMatchObject({
      role: "primary",
      position: 900,
      follows: undefined,
      isLinked: false,
    });
  });

  it("is unknown without a timeline or a position", () => {
    expect(viewOf({ ...STANDBY, timeline: null }, SERVERS)).toEqual({ is: "unknown" });
    expect(viewOf({ ...STANDBY, position: null }, SERVERS)).toEqual({ is: "unknown" });
  });
});

describe("the texts of PostgreSQL", () => {
  it("a history file says where a timeline was left", () => {
    expect(leftAt(HISTORY, 1)).toBe(0x5_00_00_60);
    expect(leftAt(HISTORY, 4)).toBe(2 ** 32 + 0xa0);
    expect(leftAt(HISTORY, 2)).toBeUndefined();
  });

  it("the names of those that may confirm a commit: of none, of one that does not exist, so that every commit waits", () => {
    expect(standbyNames(1, ["b", "c.1"])).toBe('ANY 1 ("b", "c.1")');
    expect(standbyNames(2, [])).toBe('ANY 2 ("conclave nobody")');
  });

  it("a connection, with what is quoted in it", () => {
    const spec = server("b", "postgres://me:p%27%5Cw@10.0.0.2/x?sslmode=require");
    expect(conninfoTo(spec, { application_name: "a" })).toBe(
      "host='10.0.0.2' port='5432' user='me' password='p\\'\\\\w' sslmode='require' application_name='a'",
    );
  });

  it("the control file", () => {
    const text = [
      "Database cluster state:               shut down",
      "Latest checkpoint location:           1/5000028",
      "Latest checkpoint's TimeLineID:       3",
      "Minimum recovery ending location:     1/5000100",
      "Min recovery ending loc's timeline:   4",
      "",
    ].join("\n");
    expect(parseControl(text)).toEqual({
      state: "shut down",
      checkpoint: 4_378_853_416,
      reached: [
        // The record of the checkpoint begins there, so that its first byte is there, too.
        { timeline: 3, position: 4_378_853_417 },
        { timeline: 4, position: 4_378_853_632 },
      ],
      isCopy: false,
    });
    expect(parseControl(`${text}Backup start location:                0/0\n`)?.isCopy).toBe(false);
    expect(parseControl(`${text}Backup start location:                0/15007F8\n`)?.isCopy).toBe(true);
    const fresh = text.replace("1/5000100", "0/0");
    expect(parseControl(fresh)?.reached).toHaveLength(1);
    expect(parseControl("nothing")).toBeUndefined();
  });
});

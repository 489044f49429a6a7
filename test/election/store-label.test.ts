// A store in a message is named by its URL, without anything that may be a secret.
import { describe, expect, it } from "vitest";
import { fakeStore } from "conclave/testing";
import { labelOf, withoutSecrets } from "../../src/election/store-label.ts";

describe("a store in a message", () => {
  it.each([
    ["postgres://ann:secret@db-1:5432/app?sslmode=require", "postgres://db-1:5432/app"],
    ["postgres://ann@db-1/app", "postgres://db-1/app"],
    ["etcd://10.0.0.1:2379,10.0.0.2:2379/prefix", "etcd://10.0.0.1:2379,10.0.0.2:2379/prefix"],
    ["etcd://root:secret@10.0.0.1:2379,10.0.0.2:2379", "etcd://10.0.0.1:2379,10.0.0.2:2379"],
    ["sqlite:./var/conclave.db", "sqlite:./var/conclave.db"],
    ["postgres://db/app?user=ann&password=secret", "postgres://db/app"],
    ["postgres://ann:secret@secret@db/app", "postgres:…"],
    ["postgres://ann:secret/secret@db/app", "postgres:…"],
    ["postgres://ann:1?secret@db/app", "postgres:…"],
    ["postgres://ann:1#secret@db/app", "postgres:…"],
    ["postgres://db/app?password=se@cret", "postgres:…"],
  ])("%s is shown as %s", (url, shown) => {
    expect(withoutSecrets(url)).toBe(shown);
  });

  it("is its kind where no URL is known", () => {
    expect(labelOf(fakeStore())).toBe("fake");
  });
});

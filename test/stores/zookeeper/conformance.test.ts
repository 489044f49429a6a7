// The conformance suite on real ZooKeeper: one server, and three; and a race on one.
import { zookeeper } from "conclave/stores/zookeeper";
import { storeConformance } from "conclave/testing";
import { describe, it } from "vitest";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

for (const { nodes, shape } of [
  { nodes: 1, shape: "line" },
  { nodes: 1, shape: "race" },
  { nodes: 3, shape: "line" },
] as const)
  describe(`ZooKeeper with ${nodes} ${nodes === 1 ? "server" : "servers"}, a ${shape}`, () => {
    const servers = useServers(server, { nodes });
    for (const { name, run } of storeConformance(async () => zookeeper(urlOf(servers()), { shape })))
      it(name, run, 60_000);
  });

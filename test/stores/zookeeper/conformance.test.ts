// The conformance suite on real ZooKeeper: one server, and three; each layout on one.
import { zookeeper } from "conclave/stores/zookeeper";
import { storeConformance } from "conclave/testing";
import { describe, it } from "vitest";
import * as server from "../../../scripts/servers/zookeeper.mjs";
import { useServers } from "../../support/servers.ts";
import { urlOf } from "./zookeeper.ts";

for (const nodes of [1, 3])
  describe(`ZooKeeper with ${nodes} ${nodes === 1 ? "server" : "servers"}`, () => {
    const servers = useServers(server, { nodes });
    for (const { name, run } of storeConformance(async () => zookeeper(urlOf(servers())))) it(name, run, 60_000);
  });

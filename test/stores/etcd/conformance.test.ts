// The conformance suite on real etcd: one member, and three.
import { etcd } from "conclave/stores/etcd";
import { storeConformance } from "conclave/testing";
import { describe, it } from "vitest";
import * as server from "../../../scripts/servers/etcd.mjs";
import { urlOf } from "./etcd.ts";
import { useServers } from "../../support/servers.ts";

for (const nodes of [1, 3])
  describe(`etcd with ${nodes} ${nodes === 1 ? "member" : "members"}`, () => {
    const servers = useServers(server, { nodes });
    for (const { name, run } of storeConformance(async () => etcd(urlOf(servers())))) it(name, run, 60_000);
  });

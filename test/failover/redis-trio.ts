// The trio of Redis.
import { mkdirSync } from "node:fs";
import { RedisLink } from "../../src/clients/redis/link.ts";
import type { FailoverRecord, Views } from "conclave/failover";
import { nowMs, sleep } from "../support/processes.ts";
import { type Look, Trio } from "./trio.ts";

const QUICK = [
  "--save",
  "",
  "--appendonly",
  "no",
  "--repl-diskless-sync-delay",
  "0",
  "--repl-ping-replica-period",
  "1",
];

export class RedisTrio extends Trio {
  readonly kind = "redis";
  protected readonly units = ["redis-server.service", "redis.service"];

  urlOf(name: string): string {
    return `redis://${this.addressOf(name)}:${this.ports.get(name)}`;
  }

  protected command(name: string): readonly string[] {
    const dir = this.cli.file(`data-${name}`);
    mkdirSync(dir, { recursive: true });
    return [
      "redis-server",
      "--bind",
      this.addressOf(name),
      "--protected-mode",
      "no",
      "--port",
      `${this.ports.get(name)}`,
      "--dir",
      dir,
      ...QUICK,
    ];
  }

  async look(name: string): Promise<Look> {
    const server = { host: this.addressOf(name), port: this.ports.get(name) ?? 0, database: 0 };
    const link = await RedisLink.open(server, 300);
    try {
      const info = String(await link.ask(["INFO"], 300));
      const field = (key: string): string => new RegExp(`^${key}:(.*)\r$`, "m").exec(info)?.[1] ?? "";
      const isLinked = field("master_link_status") === "up";
      return {
        isPrimary: field("role") === "master",
        linkedTo: isLinked ? Number(field("master_port")) : undefined,
        pid: Number(field("process_id")),
      };
    } finally {
      link.close();
    }
  }

  /** Waits until nothing is under way and the record knows the history of the primary. Redis names it anew when the first replica comes: before the monitors have heard of that, no replica can take its place. */
  async known(): Promise<void> {
    for (const untilMs = nowMs() + 30_000; nowMs() < untilMs; await sleep(50)) {
      const { record, servers } = (await this.order("status")) as { record?: FailoverRecord; servers: Views };
      const view = servers[record?.primary ?? ""];
      if (record?.step.at === "steady" && view?.is === "up" && view.history === record.histories[0]) return;
    }
    throw new Error(`the history of the primary does not become known\n${await this.story()}`);
  }
}

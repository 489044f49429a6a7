// Nodes and bans of a file (lease/ban-rule.ts). Everything here runs inside the transaction of the claim, keep, opening or memo that it judges. BEGIN IMMEDIATE has made that transaction the
// only writer before it reads, so no ban comes between a look at the bans and the grant. Sessions without a node cost nothing.
import type { PreparedConnection } from "../../clients/sqlite/binding.ts";
import { bannedNode, twinNode, unbannedNode } from "../../lease/ban-rule.ts";
import type { BanChange, Name, Refused, Session, SessionSpec } from "../contract.ts";
import type { HostKernel } from "./kernel.ts";
import { readText } from "./place.ts";
import * as sql from "./schema.ts";

export class SqliteBans {
  readonly #connection: PreparedConnection;
  readonly #kernel: HostKernel | undefined;
  #areThere = false;

  constructor(connection: PreparedConnection, kernel: HostKernel | undefined) {
    this.#connection = connection;
    this.#kernel = kernel;
  }

  /** Decides whether a session may be opened for this node; if so, that is recorded. */
  admit({ nonce, node }: SessionSpec, sentAtMs: number): Refused | undefined {
    if (node === undefined) return undefined;
    this.#make();
    const by = this.#bansOf(node.name);
    if (by.length > 0) return bannedNode("sqlite", node, by);
    const { boot = null, clock = null } = this.#kernel ?? {};
    const now = this.#kernel === undefined ? 0 : Math.floor(sentAtMs);
    if (this.#connection.all(sql.TWINS_OF, node.name, node.machine, boot, clock, now).length > 0)
      return twinNode("sqlite", node);
    this.#connection.run(sql.FORGET_NODES);
    this.#connection.run(sql.RECORD_NODE, nonce, node.name, node.machine);
    return undefined;
  }

  isBanned({ node }: Pick<Session, "node">): boolean {
    return node !== undefined && this.#bansOf(node).length > 0;
  }

  /** The sessions of a node may be ended only while a ban of this election is in force (lease/ban-rule.ts, rule 6). Returns undefined if they may be ended, or if that is not asked for. */
  objection({ node, endsSessions }: BanChange, by: Name): Refused | undefined {
    return endsSessions !== true || this.#bansOf(node).includes(by) ? undefined : unbannedNode("sqlite", node);
  }

  change({ node, stands, endsSessions }: BanChange, by: Name): void {
    this.#make();
    this.#connection.run(stands ? sql.BAN : sql.LIFT, node, by);
    if (endsSessions !== true) return;
    this.#connection.run(sql.VACATE_NODE, node);
    this.#connection.run(sql.END_NODE, node);
  }

  #bansOf(node: string): readonly Name[] {
    this.#areThere ||= this.#connection.all(sql.HAS_BANS).length > 0;
    if (!this.#areThere) return [];
    return this.#connection.all(sql.BANS_OF, node).map(({ name }) => readText(name, "the election of a ban"));
  }

  #make(): void {
    if (!this.#areThere) this.#connection.exec(sql.CREATE_BANS);
  }
}

// All drivers of this version.
import type { Driver } from "./driver.ts";
import { dynamodbDriver } from "./dynamodb.ts";
import { etcdDriver } from "./etcd.ts";
import { kubernetesDriver } from "./kubernetes.ts";
import { memoryDriver } from "./memory.ts";
import { postgresDriver } from "./postgres.ts";
import { redisDriver } from "./redis.ts";
import { sqliteDriver } from "./sqlite.ts";
import { zookeeperDriver } from "./zookeeper.ts";
import { schemeOf } from "../base/url.ts";

export const DRIVERS: readonly Driver[] = [
  dynamodbDriver,
  etcdDriver,
  kubernetesDriver,
  memoryDriver,
  postgresDriver,
  redisDriver,
  sqliteDriver,
  zookeeperDriver,
];

/** The reserved names of drivers that are still to come. */
export const PLANNED: ReadonlySet<string> = new Set(["consul", "mysql", "nats"]);

/** The driver for a URL, by its scheme. */
export function driverOf(url: string): Driver | undefined {
  const scheme = schemeOf(url);
  return DRIVERS.find(({ schemes }) => scheme !== undefined && schemes.includes(scheme));
}

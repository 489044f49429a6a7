// `etcd:` is a store in an etcd cluster, 3.4 or newer: a line. One lease a candidate carries all its elections; each election is a key below NAME/, in the order
// of create revisions; the first leads. The layout is that of Go's `concurrency.Election` and `Mutex`, so `etcdctl elect` and `etcdctl lock` take turns with us.
//
// Clock: etcd counts a lease's ttl from the renewal, on monotonic clocks, and a new leader of etcd counts anew. Proof: a renewal, confirmed by a linearizable
// read through the same member in the same raft term (etcd/keep.ts). Token: the create revision of the entry, in the domain of the cluster's id.
// Not promised: that etcd before 3.4.31 and 3.5.13 never ends a lease early. docs/stores/etcd.md has it in sentences.
import { parseAddress } from "../clients/etcd/address.ts";
import { EtcdClient } from "../clients/etcd/client.ts";
import type { FencedStore, Reopenable } from "./contract.ts";
import { EtcdStore } from "./etcd/etcd-store.ts";

/**
 * A store at `etcd://[user:password@]host[:port][,host[:port]…][/PREFIX]`, or `etcds://` with TLS and `?ca=FILE&cert=FILE&key=FILE&servername=NAME`; or at
 * several such URLs of one cluster. Nothing is opened before the first call; needs no client library.
 */
export function etcd(url: string | readonly string[]): FencedStore & Reopenable {
  return new EtcdStore(new EtcdClient(parseAddress(url)));
}

// Declared, not yet written: `conclave/stores/etcd` is planned. This is the shape it will have, so that the examples type-check.
import type { FencedStore, Reopenable } from "conclave";

export declare function etcd(url: string | readonly string[]): FencedStore & Reopenable;

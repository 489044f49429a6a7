// Declared, not yet written: `conclave/stores/sqlite` is planned. This is the shape it will have, so that the examples type-check.
import type { FencedStore } from "conclave";

export declare function sqlite(path?: string): FencedStore;

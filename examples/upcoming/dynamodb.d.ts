// Declared, not yet written: `conclave/stores/dynamodb` is planned. This is the shape it will have, so that the examples type-check.
import type { FencedStore } from "conclave";

export declare function dynamodb(options: { readonly table: string }): FencedStore;

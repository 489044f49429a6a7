// Declared, not yet written: `conclave/stores/kubernetes` is planned. This is the shape it will have, so that the examples type-check.
import type { FencedStore } from "conclave";

export declare function kubernetes(options?: { readonly namespace?: string | undefined }): FencedStore;

// A CommonJS file that makes things by what `require` finds.
import { createCandidate } from "conclave";
import { Supervisor } from "conclave/supervisor";
import type { SupervisorOptions } from "conclave/supervisor";
import { memory } from "conclave/stores/memory";

export const supervise = (options: SupervisorOptions): Supervisor => new Supervisor(options);
export const candidate = createCandidate({ store: memory() });

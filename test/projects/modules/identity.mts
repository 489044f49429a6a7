// An ES module that uses them by what `import` finds. A class with private fields is assignable to itself only: the types have one identity.
import type { Candidate } from "conclave";
import { Supervisor } from "conclave/supervisor";
import { candidate, supervise } from "./identity.cjs";

export const same: Candidate = candidate;
export const again: (...options: Parameters<typeof supervise>) => Supervisor = supervise;
export const isSame: boolean = candidate instanceof Object && supervise.prototype === Supervisor;

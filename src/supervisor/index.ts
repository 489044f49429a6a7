// conclave/supervisor: runs a command only while this process leads. `conclave run` is made of this.
export { type CommandFound, findCommand } from "./command.ts";
export { serveEndpoints, type Endpoints } from "./endpoints.ts";
export type { OncePass, Pass, SlotPass } from "./passes.ts";
export { shareStderr } from "../keeper/stderr.ts";
export { type Ending, refuseHere, Supervisor, type SupervisorEvent, type SupervisorOptions } from "./supervisor.ts";

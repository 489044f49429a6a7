// conclave/nestjs: a module with a candidate, elections to inject, and methods that run only where the application leads.
export { IfLeading, OncePerFleet, WhileLeading } from "./decorators.ts";
export { ConclaveModule } from "./module.ts";
export {
  CONCLAVE_CANDIDATE,
  type ConclaveModuleOptions,
  electionToken,
  InjectCandidate,
  InjectElection,
} from "./options.ts";

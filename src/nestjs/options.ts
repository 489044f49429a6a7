// What the module for NestJS is configured with, and the tokens under which it provides things.
import { ConfigurableModuleBuilder, type ConfigurableModuleCls, type InjectionToken, Inject } from "@nestjs/common";
import type { CandidateSettings } from "../election/face.ts";
import type { Store } from "../stores/contract.ts";

/** Options of `createCandidate`, and a URL in the place of a store, which the module then opens. */
export interface ConclaveModuleOptions extends CandidateSettings {
  readonly store: Store | string;
  /** Accepts a store without tokens. */
  readonly unfenced?: boolean | undefined;
}

interface ConclaveModuleExtras {
  /** Whether other modules can inject the candidate without importing this one. @default true */
  isGlobal?: boolean | undefined;
}

const builder = new ConfigurableModuleBuilder<ConclaveModuleOptions>({ moduleName: "Conclave" })
  .setClassMethodName("forRoot")
  .setExtras<ConclaveModuleExtras>({ isGlobal: true }, (definition, { isGlobal }) => ({
    ...definition,
    global: isGlobal ?? true,
  }))
  .build();

type ModuleClass = ConfigurableModuleCls<ConclaveModuleOptions, "forRoot", "create", ConclaveModuleExtras>;

export const ConfigurableModuleClass: ModuleClass = builder.ConfigurableModuleClass;
export const OPTIONS_TOKEN: InjectionToken = builder.MODULE_OPTIONS_TOKEN;

/** The candidate of this process. */
export const CONCLAVE_CANDIDATE: symbol = Symbol.for("conclave.nestjs.candidate");

/** The election of that name. */
export function electionToken(name: string): string {
  return `conclave election ${JSON.stringify(name)}`;
}

/** Injects the candidate: `constructor(@InjectCandidate() private readonly candidate: Candidate)`. */
export function InjectCandidate(): PropertyDecorator & ParameterDecorator {
  return Inject(CONCLAVE_CANDIDATE);
}

/** Injects an election that `ConclaveModule.forFeature(name)` provides. */
export function InjectElection(name: string): PropertyDecorator & ParameterDecorator {
  return Inject(electionToken(name));
}

// `conclave completion SHELL`: prints a script that completes commands and flags in a shell. Everything in it is taken from the table of commands and from
// their help, so that it always agrees with them.
import { UsageError, YES } from "./command.ts";
import { COMMANDS } from "./commands.ts";
import { onlyName, readFlags } from "./flags.ts";

export const help: string = `usage: conclave completion bash|zsh|fish

Prints a script that completes commands and flags. For one session, or in the shell's start file:

  bash          eval "$(conclave completion bash)"
  zsh           eval "$(conclave completion zsh)"
  fish          conclave completion fish | source

Exit codes: 0 printed, 2 the command line was not understood.
`;

interface Completed {
  readonly name: string;
  readonly summary: string;
  /** The words that may follow, besides flags. */
  readonly words: readonly string[];
  readonly flags: readonly string[];
}

const SHELLS: Readonly<Record<string, (commands: readonly Completed[]) => string>> = { bash, fish, zsh };

export async function run(args: readonly string[]): Promise<number> {
  const { positionals } = readFlags({ args: [...args], options: {}, allowPositionals: true });
  const shell = onlyName(positionals, "SHELL");
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined) throw new UsageError(`${shell} is not one of ${Object.keys(SHELLS).join(", ")}`);
  process.stdout.write(script(await everyCommand()));
  return YES;
}

async function everyCommand(): Promise<readonly Completed[]> {
  const names = Object.keys(COMMANDS);
  const words: Readonly<Record<string, readonly string[]>> = {
    fence: ["adopt", "lower"],
    stonith: ["run", "status", "fence", "confirm", "history"],
    schema: ["postgres", "dynamodb", "kubernetes"],
    completion: Object.keys(SHELLS),
  };
  const commands = await Promise.all(
    Object.entries(COMMANDS).map(async ([name, { summary, load }]) => {
      const { help: text } = await load();
      const flags = [...new Set([...text.matchAll(/(?<=^| )--[a-z][a-z-]*/gm)].map(([flag]) => flag)), "--help"];
      return { name, summary, words: words[name] ?? [], flags };
    }),
  );
  return [...commands, { name: "help", summary: "what a command does", words: names, flags: [] }];
}

function bash(commands: readonly Completed[]): string {
  return `# conclave, in bash: eval "$(conclave completion bash)"
_conclave() {
  local word="\${COMP_WORDS[COMP_CWORD]}" words="" index
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; index++)); do [ "\${COMP_WORDS[index]}" = -- ] && return; done
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="${commands.map(({ name }) => name).join(" ")} --help --version"
  else
    case "\${COMP_WORDS[1]}" in
${commands.map(({ name, words, flags }) => `      ${name}) words="${[...words, ...flags].join(" ")}" ;;`).join("\n")}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -o default -F _conclave conclave
`;
}

function zsh(commands: readonly Completed[]): string {
  const cases = commands.map(
    ({ name, words, flags }) => `    ${name}) compadd -- ${[...words, ...flags].join(" ")} ;;`,
  );
  return `# conclave, in zsh: eval "$(conclave completion zsh)"
_conclave() {
  if (( CURRENT == 2 )); then
    local -a commands
    commands=(
${commands.map(({ name, summary }) => `      ${quoted(`${name}:${summary}`)}`).join("\n")}
    )
    _describe command commands
    return
  fi
  if (( \${words[(I)--]} > 0 && \${words[(i)--]} < CURRENT )); then _normal; return; fi
  case "\${words[2]}" in
${cases.join("\n")}
  esac
  _files
}
compdef _conclave conclave
`;
}

function fish(commands: readonly Completed[]): string {
  const lines = commands.flatMap(({ name, summary, words, flags }) => {
    const after = `complete -c conclave -n '__fish_seen_subcommand_from ${name}'`;
    return [
      `complete -c conclave -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...words.map((word) => `${after} -a ${word}`),
      ...flags.map((flag) => `${after} -l ${flag.slice(2)}`),
    ];
  });
  return `# conclave, in fish: conclave completion fish | source\n${lines.join("\n")}\n`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

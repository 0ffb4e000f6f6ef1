import type { RegisterCommand, Bind, GlobalOptions } from './command.ts';
import { Command, InvalidArgumentError, type Option } from 'commander';
import { collectNames } from './arguments.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { collectConditions } from './input/request-options.ts';
import { collectBars } from './input/score-bars.ts';
import { packageVersion } from '../process/package.ts';

/** All commands by their name, in the order of `--help`. */
const COMMANDS: Readonly<Record<string, () => Promise<RegisterCommand>>> = {
  serve: async () => (await import('./commands/serve.ts')).registerServe,
  reload: async () => (await import('./commands/reload.ts')).registerReload,
  open: async () => (await import('./commands/open.ts')).registerOpen,
  status: async () => (await import('./commands/status.ts')).registerStatus,
  demo: async () => (await import('./commands/demo.ts')).registerDemo,
  init: async () => (await import('./commands/init.ts')).registerInit,
  inspect: async () => (await import('./commands/inspect.ts')).registerInspect,
  score: async () => (await import('./commands/score.ts')).registerScore,
  scores: async () => (await import('./commands/scores.ts')).registerScores,
  export: async () => (await import('./commands/export.ts')).registerExport,
  sql: async () => (await import('./commands/sql.ts')).registerSql,
  traces: async () => (await import('./commands/traces.ts')).registerTraces,
  explain: async () => (await import('./commands/explain.ts')).registerExplain,
  coverage: async () => (await import('./commands/coverage.ts')).registerCoverage,
  conventions: async () => (await import('./commands/conventions.ts')).registerConventions,
  preview: async () => (await import('./commands/preview.ts')).registerPreview,
  backfill: async () => (await import('./commands/backfill.ts')).registerBackfill,
  rescore: async () => (await import('./commands/rescore.ts')).registerRescore,
  purge: async () => (await import('./commands/purge.ts')).registerPurge,
  issues: async () => (await import('./commands/issues.ts')).registerIssues,
  labels: async () => (await import('./commands/labels.ts')).registerLabels,
  anchors: async () => (await import('./commands/anchors.ts')).registerAnchors,
  alerts: async () => (await import('./commands/alerts.ts')).registerAlerts,
  dlq: async () => (await import('./commands/dlq.ts')).registerDlq,
  migrate: async () => (await import('./commands/migrate.ts')).registerMigrate,
  backup: async () => (await import('./commands/backup.ts')).registerBackup,
  restore: async () => (await import('./commands/restore.ts')).registerRestore,
  move: async () => (await import('./commands/move.ts')).registerMove,
  'check-config': async () => (await import('./commands/check-config.ts')).registerCheckConfig,
  config: async () => (await import('./commands/config-print.ts')).registerConfigPrint,
  mcp: async () => (await import('./commands/mcp.ts')).registerMcp,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  components: async () => (await import('./commands/components.ts')).registerComponents,
};

/** Loads the commands that a line names: most of the start of a process is the loading of modules. A line without a command needs all. */
async function loadCommands(argv: readonly string[]): Promise<RegisterCommand[]> {
  const all = Object.entries(COMMANDS);
  const named = all.filter(([name]) => argv.includes(name));
  return Promise.all((named.length === 0 ? all : named).map(([, load]) => load()));
}

/** Builds the command tree of a line. `bind` connects an action to a commander command. */
export async function buildProgram(
  argv: readonly string[],
  bind: Bind,
  sinks: { stdout: (text: string) => void; stderr: (text: string) => void },
): Promise<Command> {
  const program = new Command('spanscore')
    .description('Scores production AI-agent traffic from its OpenTelemetry traces.')
    // The commands of issues have an option of this name.
    .version(packageVersion(), argv.includes('issues') ? '-V' : '-V, --version', 'print the version')
    .option(
      '-c, --config <file>',
      'configuration file (default: spanscore.config.{yaml,yml,json,ts,js,mjs} here)',
    )
    .option('--json', 'print JSON: one document, or one line for each item')
    .option(
      '--set <key=value>',
      'set one configuration key, e.g. store.database=x (repeatable)',
      collectSetting,
    )
    .option('--data-dir <folder>', 'short for --set store.dataDir=…')
    .option('--store-url <url>', 'short for --set store.url=…')
    .option('-v, --verbose', 'print more on stderr, with stacks of errors')
    .helpOption('-h, --help', 'print help')
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({ writeOut: sinks.stdout, writeErr: sinks.stderr })
    .showSuggestionAfterError(true)
    .exitOverride()
    .addHelpText('before', PROGRAM_EXAMPLES)
    .addHelpText('after', `\n${EXIT_CODES_HELP}`);
  for (const register of await loadCommands(argv)) {
    register(program, bind);
  }
  for (const command of [
    program,
    ...program.commands,
    ...program.commands.flatMap((child) => child.commands),
  ]) {
    command.exitOverride().configureOutput({ writeOut: sinks.stdout, writeErr: sinks.stderr });
    refuseRepeats(command);
  }
  return program;
}

/** Parsers of options that may be repeated. */
const COLLECTORS: ReadonlySet<unknown> = new Set([
  collectBars,
  collectConditions,
  collectNames,
  collectSetting,
]);

/** Makes a command refuse a second value of an option that takes one: the first would be lost. */
function refuseRepeats(command: Command): void {
  for (const option of command.options.filter(takesOneValue)) {
    let isGiven = false;
    command.on(`option:${option.name()}`, () => {
      if (isGiven) {
        command.error(`error: option '${option.flags}' takes one value and was given twice`);
      }
      isGiven = true;
    });
  }
}

function takesOneValue({ required, optional, variadic, parseArg }: Option): boolean {
  return (required || optional) && !variadic && !COLLECTORS.has(parseArg);
}

/** Returns the options that may stand anywhere on the line. */
export function readGlobals(program: Command): GlobalOptions {
  return program.opts<GlobalOptions>();
}

const PROGRAM_EXAMPLES = `Examples:
  $ spanscore demo                     see a small agent scored, in under a minute
  $ spanscore serve                    receive spans on 127.0.0.1:4318 and score them
  $ spanscore inspect spans.jsonl      how spanscore understands recorded spans
  $ spanscore explain <trace-id>       why a trace was scored, or was not
`;

function collectSetting(
  text: string,
  previous: Readonly<Record<string, string>> | undefined,
): Record<string, string> {
  const equals = text.indexOf('=');
  if (equals < 1) {
    throw new InvalidArgumentError('Write key=value, like store.database=x.');
  }
  return { ...previous, [text.slice(0, equals)]: text.slice(equals + 1) };
}

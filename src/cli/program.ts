import type { RegisterCommand, Bind, GlobalOptions } from './command.ts';
import { Command, InvalidArgumentError, type Option } from 'commander';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { packageVersion } from '../process/package.ts';

/** All commands by their name, in the order of `--help`: its words there, and the loader of options and action. */
const COMMANDS: Readonly<Record<string, { says: string; load: () => Promise<RegisterCommand> }>> = {
  serve: {
    says: 'Receive spans, score agent runs and export scores. Ctrl-C finishes the accepted work and stops.',
    load: async () => (await import('./commands/serve.ts')).registerServe,
  },
  reload: {
    says: 'Put the changed configuration in force in the running serve of this folder: all of it, or nothing.',
    load: async () => (await import('./commands/reload.ts')).registerReload,
  },
  open: {
    says: 'Print the address of the dashboard, and open it in a browser on a desktop.',
    load: async () => (await import('./commands/open.ts')).registerOpen,
  },
  status: {
    says: 'Print the running serve, progress of scoring, failing judges, open jobs, budgets and the size of the store.',
    load: async () => (await import('./commands/status.ts')).registerStatus,
  },
  demo: {
    says: 'Run a small agent with real telemetry and a scripted model, and score its traces. Needs no API key.',
    load: async () => (await import('./commands/demo.ts')).registerDemo,
  },
  init: {
    says: 'Write a commented spanscore.config.yaml and print the variables to set in an agent. Overwrites nothing.',
    load: async () => (await import('./commands/init.ts')).registerInit,
  },
  inspect: {
    says: 'Show how spanscore understands spans. Reads files of OTLP JSON, stdin (-) or stored traces (ids).',
    load: async () => (await import('./commands/inspect.ts')).registerInspect,
  },
  score: {
    says: 'Run scorers now on a stored trace, on files of spans (names or patterns; - is stdin) or on a session, and print the scores.',
    load: async () => (await import('./commands/score.ts')).registerScore,
  },
  scores: {
    says: 'Print score rows, newest first.',
    load: async () => (await import('./commands/scores.ts')).registerScores,
  },
  export: {
    says: 'Write scores with the facts of their runs to a file, for notebooks and fine-tuning.',
    load: async () => (await import('./commands/export.ts')).registerExport,
  },
  sql: {
    says: 'Run one SELECT over the tables of spanscore, read-only (see docs/sql.md).',
    load: async () => (await import('./commands/sql.ts')).registerSql,
  },
  traces: {
    says: 'Print traces with their state, newest first.',
    load: async () => (await import('./commands/traces.ts')).registerTraces,
  },
  explain: {
    says: 'Print every decision about a trace and its reason: why it was scored or not scored.',
    load: async () => (await import('./commands/explain.ts')).registerExplain,
  },
  coverage: {
    says: 'Count what the rules decided: eligible, sampled, scored, not applicable, deferred, failed. Each scorer of a rule counts once for each target.',
    load: async () => (await import('./commands/coverage.ts')).registerCoverage,
  },
  conventions: {
    says: 'Summarise how spanscore understands the newest stored traces, per service and scope, and which settings are missing.',
    load: async () => (await import('./commands/conventions.ts')).registerConventions,
  },
  preview: {
    says: 'Show what a rule would match, score and cost, with some real verdicts. Stores no score; what the verdicts cost counts in the budgets.',
    load: async () => (await import('./commands/preview.ts')).registerPreview,
  },
  backfill: {
    says: 'Score stored traces and the sessions that ended, as a job. Skips traces with scores, traces that still arrive and traces that live scoring must still score. Ctrl-C leaves the job to a running serve.',
    load: async () => (await import('./commands/backfill.ts')).registerBackfill,
  },
  rescore: {
    says: 'Run scorers again: those that failed, or one scorer on all that it has scored. The judge is asked again. A killed rescore continues in serve, or when the command runs again.',
    load: async () => (await import('./commands/rescore.ts')).registerRescore,
  },
  purge: {
    says: 'Delete a trace, a session, a user or a tenant from every table, for ever. Late spans of the deleted traces are refused. Asks first.',
    load: async () => (await import('./commands/purge.ts')).registerPurge,
  },
  issues: {
    says: 'What goes wrong, how often, and since when: failures of runs, grouped without a model.',
    load: async () => (await import('./commands/issues.ts')).registerIssues,
  },
  labels: {
    says: 'Labels: scores of people. Import and export them, and compare them with a scorer.',
    load: async () => (await import('./commands/labels.ts')).registerLabels,
  },
  anchors: {
    says: 'Print whether judges judge as before: the runs that they are asked about again and again.',
    load: async () => (await import('./commands/anchors.ts')).registerAnchors,
  },
  alerts: {
    says: 'Score-drift alerts: states of monitors, incidents, mutes; checks, tests and backtests of rule files.',
    load: async () => (await import('./commands/alerts.ts')).registerAlerts,
  },
  dlq: {
    says: 'Dead letters: records, rows, alerts and scores that could not be processed. List, replay or drop them.',
    load: async () => (await import('./commands/dlq.ts')).registerDlq,
  },
  migrate: {
    says: 'Create the tables of this version. serve also does this when it starts.',
    load: async () => (await import('./commands/migrate.ts')).registerMigrate,
  },
  backup: {
    says: 'Copy the store of the embedded engine to a folder, also while serve runs. The folder is a backup once it has backup.json.',
    load: async () => (await import('./commands/backup.ts')).registerBackup,
  },
  restore: {
    says: 'Fill an empty data directory from a backup, and count the rows of every table.',
    load: async () => (await import('./commands/restore.ts')).registerRestore,
  },
  move: {
    says: 'Copy the store of the embedded engine to a ClickHouse server, with serve stopped. Senders repeat what serve does not take meanwhile.',
    load: async () => (await import('./commands/move.ts')).registerMove,
  },
  'check-config': {
    says: 'Check a configuration and print every fault. Contacts no service.',
    load: async () => (await import('./commands/check-config.ts')).registerCheckConfig,
  },
  config: {
    says: 'Show the configuration.',
    load: async () => (await import('./commands/config-print.ts')).registerConfigPrint,
  },
  mcp: {
    says: 'Answer a coding agent over MCP on stdin and stdout, from a running serve.',
    load: async () => (await import('./commands/mcp.ts')).registerMcp,
  },
  doctor: {
    says: 'Check Node.js, configuration, ports, store, judge, sources and exporters. Print a fix for each fault.',
    load: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
  components: {
    says: 'List the receivers, conventions, scorers, exporters and alert channels of this version.',
    load: async () => (await import('./commands/components.ts')).registerComponents,
  },
};

/**
 * Adds the commands that a line names: most of the start of a process is the loading of modules. A line without one gets all commands, for
 * the help, without their options.
 */
async function addCommands(program: Command, argv: readonly string[], bind: Bind): Promise<void> {
  const all = Object.entries(COMMANDS);
  const named = all.filter(([name]) => argv.includes(name));
  for (const [name] of named.length === 0 ? all : []) {
    program.command(name);
  }
  const registers = await Promise.all(named.map(([, { load }]) => load()));
  registers.forEach((register) => register(program, bind));
  for (const command of program.commands) {
    command.description(COMMANDS[command.name()]?.says ?? '');
  }
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
  await addCommands(program, argv, bind);
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

/** The parser of an option that may be repeated takes the value so far, too. */
function takesOneValue({ required, optional, variadic, parseArg }: Option): boolean {
  return (required || optional) && !variadic && (parseArg?.length ?? 0) < 2;
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

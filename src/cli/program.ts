import type { RegisterCommand, Bind, GlobalOptions } from './command.ts';
import { registerAlerts } from './commands/alerts.ts';
import { registerBackfill } from './commands/backfill.ts';
import { registerBackup } from './commands/backup.ts';
import { registerCheckConfig } from './commands/check-config.ts';
import { registerComponents } from './commands/components.ts';
import { registerConfigPrint } from './commands/config-print.ts';
import { registerCoverage } from './commands/coverage.ts';
import { registerDlq } from './commands/dlq.ts';
import { registerConventions } from './commands/conventions.ts';
import { registerDemo } from './commands/demo.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerExplain } from './commands/explain.ts';
import { registerExport } from './commands/export.ts';
import { registerInit } from './commands/init.ts';
import { registerInspect } from './commands/inspect.ts';
import { registerLabels } from './commands/labels.ts';
import { registerMigrate } from './commands/migrate.ts';
import { registerMove } from './commands/move.ts';
import { registerOpen } from './commands/open.ts';
import { registerPreview } from './commands/preview.ts';
import { registerPurge } from './commands/purge.ts';
import { registerRescore } from './commands/rescore.ts';
import { registerRestore } from './commands/restore.ts';
import { registerScore } from './commands/score.ts';
import { registerScores } from './commands/scores.ts';
import { registerServe } from './commands/serve.ts';
import { registerSql } from './commands/sql.ts';
import { registerStatus } from './commands/status.ts';
import { registerTraces } from './commands/traces.ts';
import { Command, InvalidArgumentError, type Option } from 'commander';
import { collectNames } from './arguments.ts';
import { EXIT_CODES_HELP } from './exit-codes.ts';
import { collectConditions } from './input/backfill-options.ts';
import { collectBars } from './input/score-bars.ts';
import { packageVersion } from '../process/package.ts';

/** All commands, in the order of `--help`. */
export const COMMANDS: readonly RegisterCommand[] = [
  registerServe,
  registerOpen,
  registerStatus,
  registerDemo,
  registerInit,
  registerInspect,
  registerScore,
  registerScores,
  registerExport,
  registerSql,
  registerTraces,
  registerExplain,
  registerCoverage,
  registerConventions,
  registerPreview,
  registerBackfill,
  registerRescore,
  registerPurge,
  registerLabels,
  registerAlerts,
  registerDlq,
  registerMigrate,
  registerBackup,
  registerRestore,
  registerMove,
  registerCheckConfig,
  registerConfigPrint,
  registerDoctor,
  registerComponents,
];

/** Builds the whole command tree. `bind` connects an action to a commander command. */
export function buildProgram(
  bind: Bind,
  sinks: { stdout: (text: string) => void; stderr: (text: string) => void },
): Command {
  const program = new Command('spanscore')
    .description('Scores production AI-agent traffic from its OpenTelemetry traces.')
    .version(packageVersion(), '-V, --version', 'print the version')
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
  for (const register of COMMANDS) {
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

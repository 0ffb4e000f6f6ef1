import type { RegisterCommand } from './command.ts';
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

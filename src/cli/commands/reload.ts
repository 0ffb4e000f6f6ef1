import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import type { ReloadAnswer } from '../../config/config-control.ts';
import { readEnvironment } from '../../config/environment.ts';
import { findConfigFile, readConfigFile } from '../../config/files/config-file.ts';
import { valueAt } from '../../config/key-path.ts';
import { readServeFile } from '../../config/serve-file.ts';
import { AppError, ConfigError, readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';

export const registerReload: RegisterCommand = (program, bind) => {
  withExamples(program.command('reload'), [
    ['after a change of spanscore.config.yaml', 'spanscore reload'],
    ['what changed, for a script', 'spanscore reload --json'],
  ]).action(bind(reload));
};

async function reload(context: CommandContext): Promise<ExitCode> {
  const dataDir = await findDataDir(context);
  const serve = readServeFile(dataDir);
  if (serve?.reload === undefined) {
    throw new StoreUnavailableError(
      serve === undefined
        ? `no spanscore serve runs on ${dataDir}: start it, or name another data directory with --data-dir`
        : `the serve with pid ${serve.pid} has no configuration that it can load again: restart it`,
    );
  }
  const answer = await askServe(serve.reload, serve.pid);
  await context.out.document(answer, () => showAnswer(answer));
  return answer.outcome !== 'refused' ? EXIT.done : answer.issues.length > 0 ? EXIT.config : EXIT.failed;
}

/** Asks a `serve` to reload. Throws an `AppError` when it does not answer, or its store does not. */
async function askServe(
  { url, secret }: { readonly url: string; readonly secret: string },
  pid: number,
): Promise<ReloadAnswer> {
  const headers = { authorization: `Bearer ${secret}` };
  const response = await fetch(url, { method: 'POST', headers }).catch((cause: unknown) => {
    throw new StoreUnavailableError(`the serve with pid ${pid} does not answer: ${readErrorMessage(cause)}`);
  });
  const body = (await response.json()) as ReloadAnswer & { readonly error?: string };
  if (!response.ok) {
    const error = { code: 'store_unavailable', stage: 'config', retryable: true } as const;
    throw new AppError(`the serve with pid ${pid} could not reload: ${body.error}`, error);
  }
  return body;
}

function showAnswer({ outcome, revision, changed, issues, needsRestart }: ReloadAnswer): string {
  if (outcome === 'unchanged') {
    return `nothing has changed: revision ${revision} stays in force`;
  }
  if (outcome === 'applied') {
    return [`revision ${revision} is in force`, ...changed.map((path) => `changed ${path}`)].join('\n');
  }
  const faults = issues.map(({ file, line, column, path, message }) => {
    const place = [file, line, column].filter((part) => part !== null).join(':');
    return [place, path, message].filter((part) => part !== '').join(': ');
  });
  const restarts = needsRestart.map((path) => `needs a restart: ${path}`);
  return [`refused: revision ${revision} stays in force`, ...faults, ...restarts].join('\n');
}

/** Finds the data directory, also of a configuration with faults: the running process names them. */
async function findDataDir(context: CommandContext): Promise<string> {
  const { cwd, globals } = context;
  try {
    return (await context.loadConfig()).config.store.dataDir;
  } catch (error) {
    if (!(error instanceof ConfigError)) {
      throw error;
    }
  }
  const given =
    globals.dataDir ?? globals.set?.['store.dataDir'] ?? readEnvironment('SPANSCORE_STORE_DATA_DIR');
  if (given !== undefined) {
    return resolve(cwd, given);
  }
  const named = globals.config ?? readEnvironment('SPANSCORE_CONFIG');
  const path = named === undefined ? findConfigFile(cwd) : resolve(cwd, named);
  const file = path === undefined ? undefined : await readConfigFile(path).catch(() => undefined);
  const written = z
    .string()
    .min(1)
    .safeParse(valueAt(file?.value, ['store', 'dataDir']));
  return file !== undefined && written.success
    ? resolve(dirname(file.path), written.data)
    : resolve(path === undefined ? cwd : dirname(path), '.spanscore');
}

import { closeSync, openSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { InvalidArgumentError, Option } from 'commander';
import { isDashboardBuilt } from '../../process/package.ts';
import type { LoadedConfig } from '../../configuration.ts';
import { AppError, StoreUnavailableError } from '../../domain/errors.ts';
import { nearest } from '../../domain/nearest.ts';
import { watchFiles } from '../../process/watch-files.ts';
import type { Role, Serve } from '../../serve.ts';
import { createLog } from '../../telemetry/log.ts';
import { aborted, withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { dashboardUrl, showDashboard } from '../show/dashboard-address.ts';

interface ServeCommandOptions {
  readonly role?: readonly Role[];
  readonly watch?: boolean;
}

const ROLES: readonly Role[] = ['collector', 'scorer', 'api', 'store'];

export const registerServe: RegisterCommand = (program, bind) => {
  withExamples(program.command('serve'), [
    ['all roles in one process, embedded store', 'spanscore serve'],
    ['rules change while it runs', 'spanscore serve --watch'],
    ['with a judge', 'SPANSCORE_JUDGE=openai/gpt-5-mini spanscore serve'],
    ['a second scorer, with the store of the serve in this folder', 'spanscore serve --role scorer'],
    [
      'receivers only, beside other processes',
      'spanscore serve --role collector,api --store-url http://clickhouse:8123',
    ],
  ])
    .addOption(
      new Option('--role <roles>', `one or more of ${ROLES.join(', ')}; default: all`).argParser(parseRoles),
    )
    .option('--watch', 'reload by itself when the configuration or a file that it names changes')
    .action(bind(serve, { stopsItself: true }));
};

async function serve(context: CommandContext, options: ServeCommandOptions): Promise<ExitCode> {
  const loaded = await context.loadConfig({ checksParts: options.role?.includes('scorer') ?? true });
  const { config } = loaded;
  const level = context.globals.verbose === true ? 'debug' : config.log.level;
  const log = createLog(level, { format: config.log.format });
  const source = createSource(context, options, loaded);
  const { startServe } = await import('../../serve.ts');
  const running = await startServe(config, {
    log,
    signal: context.signal,
    source,
    ...(options.role === undefined ? {} : { roles: options.role }),
  }).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'cancelled') {
      return undefined;
    }
    throw error;
  });
  if (running === undefined) {
    return exitCodeAfterSignal(context);
  }
  await context.out.document({ ready: true, pid: process.pid, ...publicAddresses(running) }, () =>
    [
      ...showAddresses(running),
      `configuration  ${loaded.file ?? 'none: default values apply'}`,
      ...config.rules.map((rule) => `rule           ${rule.name}: ${rule.scorers.join(', ')}`),
      ...showPage(running, config.api.publicUrl),
    ].join('\n'),
  );
  for (const note of loaded.notes) {
    context.out.talk(note);
  }
  const reload = () =>
    void running.control
      ?.reload()
      .catch((error: unknown) => log.warn('the configuration cannot be reloaded now; try again', { error }));
  reloadAtHangup(reload);
  if (options.watch === true) {
    void watchFiles(source.listFiles, { onChange: reload, signal: context.signal });
  }
  const end = await Promise.race([aborted(context.signal), running.lost.then(() => 'lost' as const)]);
  context.out.talk('stopping: finishing the accepted work');
  if (end === 'lost') {
    await running
      .stop()
      .catch((error: unknown) => log.warn('some of the accepted work could not be finished', { error }));
    throw new StoreUnavailableError(
      'the process that owned the embedded engine has ended: start this process again, or set store.url to a ClickHouse server',
    );
  }
  await running.stop();
  return exitCodeAfterSignal(context);
}

/** Returns the place of the configuration, which is loaded anew with the same options. */
function createSource(context: CommandContext, { role }: ServeCommandOptions, first: LoadedConfig) {
  const checksParts = role?.includes('scorer') ?? true;
  const { file } = first;
  let latest = first;
  return {
    file,
    async load(text?: string) {
      latest = await context.loadConfig({ file, checksParts, anew: { text } });
      return latest.config;
    },
    listFiles: () => listWatchedFiles(latest),
  };
}

/**
 * Makes SIGHUP reload, unless the terminal of this process has closed: then it still ends it. A process that had no terminal has none that
 * could close.
 */
function reloadAtHangup(reload: () => void): void {
  const endings = process.listeners('SIGHUP');
  const hadTerminal = hasTerminal();
  process.removeAllListeners('SIGHUP');
  process.on('SIGHUP', (signal) => {
    if (hadTerminal && !hasTerminal()) {
      endings.forEach((end) => end(signal));
    } else {
      reload();
    }
  });
}

/** Returns true when the terminal that controls this process can be opened. */
function hasTerminal(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r', 0o600));
    return true;
  } catch {
    return false;
  }
}

/** Lists the files whose change is a change of the configuration. */
async function listWatchedFiles({ file, config }: LoadedConfig): Promise<string[]> {
  const patterns = config.monitors.filter((entry) => typeof entry === 'string');
  const monitors: string[] = [];
  for await (const path of glob(patterns)) {
    monitors.push(path);
  }
  const modules = Object.values(config.scorers).flatMap(({ module }) => module ?? []);
  return [...(file === undefined ? [] : [file]), ...monitors, ...modules];
}

/** Returns exit code 0 for SIGTERM (a supervisor stops the service) and SIGHUP (the session ends). */
function exitCodeAfterSignal({ signal }: CommandContext): ExitCode {
  return signal.reason === 'SIGINT' ? EXIT.interrupted : EXIT.done;
}

/** Returns the addresses without the password of the store; only the address file has the password. */
function publicAddresses({ addresses, storeKind }: Serve) {
  const { otlpHttp, otlpGrpc, api, clickhouse } = addresses;
  return {
    otlpHttp,
    otlpGrpc,
    api,
    store: { kind: storeKind, url: clickhouse.url, database: clickhouse.database },
  };
}

/** Returns the address of the page alone: the last line, for people and for scripts. */
function showPage({ addresses: { api } }: Serve, publicUrl: string | undefined): string[] {
  return api === null ? [] : [dashboardUrl(api, publicUrl)];
}

function showAddresses({ addresses, storeKind }: Serve): string[] {
  return [
    ...(addresses.otlpHttp === null ? [] : [`OTLP/HTTP      ${addresses.otlpHttp}`]),
    ...(addresses.otlpGrpc === null ? [] : [`OTLP/gRPC      ${addresses.otlpGrpc}`]),
    ...(addresses.api === null
      ? []
      : [
          `API            ${addresses.api}`,
          ...(isDashboardBuilt() ? [] : [`dashboard      ${showDashboard(addresses.api)}`]),
        ]),
    `store          ${storeKind} ${addresses.clickhouse.url}, database ${addresses.clickhouse.database}`,
  ];
}

function parseRoles(text: string): Role[] {
  return text.split(',').map((word) => {
    const role = ROLES.find((known) => known === word.trim());
    if (role === undefined) {
      const meant = nearest(word, ROLES);
      throw new InvalidArgumentError(
        `There is no role ${word}${meant === undefined ? `; the roles are ${ROLES.join(', ')}` : `; did you mean ${meant}?`}`,
      );
    }
    return role;
  });
}

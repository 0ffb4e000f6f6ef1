import { spawn } from 'node:child_process';
import { isDashboardBuilt } from '../../process/package.ts';
import { readEnvironment } from '../../config/environment.ts';
import { readServeFile } from '../../config/serve-file.ts';
import { StoreUnavailableError } from '../../domain/errors.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { dashboardUrl, showDashboard } from '../show/dashboard-address.ts';

export const registerOpen: RegisterCommand = (program, bind) => {
  withExamples(program.command('open'), [
    ['the dashboard of the serve of this folder', 'spanscore open'],
    ['only its address, for a script', 'spanscore open --json --no-browser | jq -r .dashboard'],
  ])
    .option('--no-browser', 'only print the address')
    .action(bind(open));
};

async function open(context: CommandContext, options: { readonly browser: boolean }): Promise<ExitCode> {
  const { config } = await context.loadConfig();
  const serve = readServeFile(config.store.dataDir);
  if (serve === undefined || serve.api === null) {
    throw new StoreUnavailableError(
      `no serve with the role api runs on ${config.store.dataDir}: start one with spanscore serve, or name the data directory of the running one with --data-dir`,
    );
  }
  const url = dashboardUrl(serve.api, config.api.publicUrl);
  await context.out.document({ dashboard: url, isBuilt: isDashboardBuilt() }, () => showDashboard(url));
  if (options.browser && isDashboardBuilt()) {
    await openBrowser(url, context);
  }
  return EXIT.done;
}

/** Opens the browser of a desktop. A machine without one is no fault: the address is printed. */
export async function openBrowser(url: string, { out }: CommandContext): Promise<void> {
  const opener = findOpener();
  if (opener === undefined) {
    return;
  }
  const child = spawn(opener, [url], { stdio: 'ignore', detached: true });
  const started = Promise.withResolvers<boolean>();
  child.once('spawn', () => started.resolve(true));
  child.once('error', () => started.resolve(false));
  if (!(await started.promise)) {
    out.talk(`no browser was opened: ${opener} cannot be started; open the address yourself`);
  }
  child.unref();
}

/** Returns the program that opens addresses; undefined on a machine without a desktop. */
function findOpener(): string | undefined {
  if (process.platform === 'darwin') {
    return 'open';
  }
  const hasDesktop = readEnvironment('DISPLAY') ?? readEnvironment('WAYLAND_DISPLAY');
  return process.platform === 'linux' && hasDesktop !== undefined ? 'xdg-open' : undefined;
}

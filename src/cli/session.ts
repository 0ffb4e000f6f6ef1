import { PREBUILT_SCORERS } from '../components.ts';
import { loadConfig, type LoadedConfig } from '../configuration.ts';
import type { StoreUser } from '../store/connection/connect-store.ts';
import { createLog } from '../telemetry/log.ts';
import type { CommandContext, ConfigOptions, GlobalOptions } from './command.ts';
import type { App } from './context.ts';
import type { Output } from './show/output.ts';

/** Opens each resource of a command at its first use and closes all at the end. */
export function createSession(
  globals: GlobalOptions,
  surroundings: Pick<CommandContext, 'cwd' | 'stdin' | 'signal'>,
  { out, user }: { out: Output; user: StoreUser },
) {
  let loading: Promise<LoadedConfig> | undefined;
  let opening: Promise<App> | undefined;
  const log = createLog(globals.verbose === true ? 'debug' : 'warn');
  const context: CommandContext = {
    out,
    log,
    globals,
    ...surroundings,
    loadConfig: async (options = {}) => {
      if (options.anew !== undefined) {
        return load(globals, options, surroundings.cwd, out);
      }
      return (loading ??= load(globals, options, surroundings.cwd, out));
    },
    openApp: async () => (opening ??= open()),
  };
  async function open(): Promise<App> {
    const [{ config }, { openApp }] = await Promise.all([context.loadConfig(), import('./context.ts')]);
    return openApp(config, { log, out, user });
  }

  return {
    context,
    close: async () => {
      const app = await opening?.catch(() => undefined);
      await app?.close().catch((error: unknown) => log.warn('the store did not close cleanly', { error }));
    },
  };
}

async function load(
  globals: GlobalOptions,
  { file = globals.config, checksParts = false, loadsModules = false, anew }: ConfigOptions,
  cwd: string,
  out: Output,
): Promise<LoadedConfig> {
  const loaded = await loadConfig({
    path: file,
    text: anew?.text,
    check: async (config) =>
      checksParts ? (await import('./checks/part-issues.ts')).partIssues(config, { loadsModules }) : [],
    cwd,
    flags: {
      ...globals.set,
      ...(globals.dataDir === undefined ? {} : { 'store.dataDir': globals.dataDir }),
      ...(globals.storeUrl === undefined ? {} : { 'store.url': globals.storeUrl }),
    },
    scorers: PREBUILT_SCORERS,
  });
  for (const warning of loaded.warnings) {
    out.talk(`warning: ${warning}`);
  }
  return loaded;
}

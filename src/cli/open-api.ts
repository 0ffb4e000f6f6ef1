import type { LocalApi } from '../api/local-api.ts';
import type { TenantStoreParts } from '../api/tenant-store.ts';
import type { Config } from '../configuration.ts';
import type { CommandContext } from './command.ts';
import type { AuditedWrite } from '../api/writes/audit.ts';

export interface Page<Item> {
  readonly items: readonly Item[];
}

/**
 * Opens the API of a command on the store that it uses. The command takes the place of the token's name in the audit.
 * @param command as the user types it, without options: `alerts ack`
 * @param parts what the command knows of the rules, and its scorers
 */
export async function openApi(
  { openApp }: Pick<CommandContext, 'openApp'>,
  command: string,
  parts: Partial<Pick<TenantStoreParts, 'config' | 'runRules' | 'onDemand'>> = {},
): Promise<LocalApi> {
  const { config, store, purged } = await openApp();
  const { createLocalApi } = await import('../api/local-api.ts');
  return createLocalApi({ config, store, purged, ...parts }, `spanscore ${command}`);
}

/** Loads the scorers of a configuration. Throws a `ConfigError` for scorers that cannot be used. */
export async function loadKit(context: CommandContext, config?: Config) {
  const { loadScorerKit } = await import('../scoring/setup/scorer-kit.ts');
  return loadScorerKit(config ?? (await context.loadConfig()).config, context);
}

/**
 * Loads the scorers of a command, and the scoring with them on its store.
 * @param known the configuration, and scorers that are loaded; by default those of the command
 * @param signal stops the scoring. Default: the one of the command
 */
export async function openScoring(
  context: CommandContext,
  known: { readonly config?: Config; readonly kit?: Awaited<ReturnType<typeof loadKit>> } = {},
  signal: AbortSignal = context.signal,
) {
  const { config = (await context.loadConfig()).config } = known;
  const kit = known.kit ?? (await loadKit(context, config));
  const { createConfiguredScoring } = await import('../scoring/setup/configured-scoring.ts');
  const { hasLiveScorer } = await import('../aggregates/refresh-aggregates.ts');
  const { store, purged, readTrace } = await context.openApp();
  const { log } = context;
  const scoring = createConfiguredScoring({ config, kit, stores: store, readTrace, log, signal, purged });
  const isBesideLive = await hasLiveScorer(store.duties);
  const load = async () => ({ kit, scoring });
  const onDemand = { load, isBesideLive, until: signal, stop: async () => undefined };
  return { config, kit, store, scoring, readTrace, isBesideLive, onDemand };
}

/** Signal for the scoring of a job, which another process continues: it ends with the lease of the job. */
export const NEVER: AbortSignal = new AbortController().signal;

/**
 * Stores the audit row of a command. It goes before the write, so that a write that then fails has a row, too. The command takes the
 * place of the token's name.
 * @param command as the user types it, without options: `alerts ack`
 */
export async function auditCommand(
  context: CommandContext,
  command: string,
  { tenant = '', ...write }: AuditedWrite & { readonly tenant?: string | undefined },
): Promise<void> {
  const { createWriteRecorder } = await import('../api/writes/audit.ts');
  const { loadPurgeKey } = await import('../purge/configured-purge.ts');
  const { config, store } = await context.openApp();
  const record = createWriteRecorder(store.audit, loadPurgeKey(config.store));
  await record({ name: `spanscore ${command}`, tenant }, write);
}

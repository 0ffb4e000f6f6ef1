import type { LocalApi } from '../api/local-api.ts';
import type { ProcessReads } from '../api/tenant-store.ts';
import type { CommandContext } from './command.ts';

/**
 * Opens the API of a command on the store that it uses. The command takes the place of the token's name in the audit.
 * @param command as the user types it, without options: `alerts ack`
 * @param reads what the command knows of the rules
 */
export async function openApi(
  { openApp }: Pick<CommandContext, 'openApp'>,
  command: string,
  reads: ProcessReads = {},
): Promise<LocalApi> {
  const { config, store, purged } = await openApp();
  const { createLocalApi } = await import('../api/local-api.ts');
  return createLocalApi({ ...reads, config, store, purged }, `spanscore ${command}`);
}

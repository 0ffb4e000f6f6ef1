import type { AuditedWrite } from '../api/writes/audit.ts';
import type { CommandContext } from './command.ts';

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

import type { TraceReading } from '../domain/agent-run.ts';
import { NotFoundError } from '../domain/errors.ts';
import { traceKeyOf, type TraceActivity } from '../store/contracts/stores.ts';
import type { CommandContext } from './command.ts';

/** The activity of a trace by its id alone: one entry a tenant that has it. Throws `NotFoundError` when nobody has. */
export async function findStoredTrace(context: CommandContext, traceId: string): Promise<TraceActivity[]> {
  const app = await context.openApp();
  const found = await app.store.spans.findTrace(traceId.toLowerCase());
  if (found.length === 0) {
    throw new NotFoundError(`trace ${traceId} is not in the store; look with: spanscore traces --since 24h`);
  }
  return found;
}

/** A stored trace, read. */
export async function readStoredTrace(context: CommandContext, traceId: string): Promise<TraceReading[]> {
  const app = await context.openApp();
  const keys = await findStoredTrace(context, traceId);
  const traces = await app.store.spans.read(keys);
  return keys.flatMap((key) => {
    const data = traces.get(traceKeyOf(key));
    return data === undefined ? [] : [app.readTrace(data)];
  });
}

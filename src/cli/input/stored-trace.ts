import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { NotFoundError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/span.ts';
import type { TraceActivity } from '../../store/contracts/stores.ts';
import { isTraceId } from '../arguments.ts';
import type { CommandContext } from '../command.ts';

/** The activity of a trace by its id alone: one entry a tenant that has it. Throws `NotFoundError` when nobody has. */
export async function findStoredTrace(context: CommandContext, traceId: string): Promise<TraceActivity[]> {
  const app = await context.openApp();
  const found = await app.store.spans.findTrace(traceId.toLowerCase());
  if (found.length === 0) {
    throw new NotFoundError(`trace ${traceId} is not in the store; look with: spanscore traces --since 24h`);
  }
  return found;
}

/** The spans and logs of a stored trace, with those of the traces that are the rest of its run; one entry a tenant. */
export async function readStoredTrace(context: CommandContext, traceId: string): Promise<TraceData[]> {
  const app = await context.openApp();
  const { readJoinedTraces } = await import('../../app/joined-traces.ts');
  return readJoinedTraces(app.store.spans, await findStoredTrace(context, traceId));
}

/** A trace id, unless a file has that very name. */
export function isStoredTrace(input: string, cwd: string): boolean {
  return isTraceId(input) && !existsSync(resolve(cwd, input));
}

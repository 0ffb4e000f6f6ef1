import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { NotFoundError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import type { TraceActivity } from '../../store/contracts/stores.ts';
import { isTraceId } from '../arguments.ts';
import type { CommandContext } from '../command.ts';

/**
 * Finds the activity of a trace by its id: one entry for each tenant that has the trace. Throws `NotFoundError` when no
 * tenant has it.
 */
export async function findStoredTrace(context: CommandContext, traceId: string): Promise<TraceActivity[]> {
  const app = await context.openApp();
  const found = await app.store.spans.findTrace(traceId.toLowerCase());
  if (found.length === 0) {
    throw new NotFoundError(
      `trace ${traceId} is not in the store; to list traces: spanscore traces --since 24h`,
    );
  }
  return found;
}

/** Reads the spans and logs of a stored trace and of the other traces of its run; one entry for each tenant. */
export async function readStoredTrace(context: CommandContext, traceId: string): Promise<TraceData[]> {
  const app = await context.openApp();
  const { readJoinedTraces } = await import('../../app/scoring/joined-traces.ts');
  return readJoinedTraces(app.store.spans, await findStoredTrace(context, traceId));
}

/** True for a trace id, unless a file has this name. */
export function isStoredTrace(input: string, cwd: string): boolean {
  return isTraceId(input) && !existsSync(resolve(cwd, input));
}

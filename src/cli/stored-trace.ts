import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { NotFoundError } from '../domain/errors.ts';
import type { TraceData } from '../domain/span.ts';
import { traceKeyOf, type TraceActivity } from '../store/contracts/stores.ts';
import { isTraceId } from './arguments.ts';
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

/** The spans and logs of a stored trace; one entry a tenant that has it. */
export async function readStoredTrace(context: CommandContext, traceId: string): Promise<TraceData[]> {
  const app = await context.openApp();
  const keys = await findStoredTrace(context, traceId);
  const traces = await app.store.spans.read(keys);
  return keys.flatMap((key) => traces.get(traceKeyOf(key)) ?? []);
}

/** A trace id, unless a file has that very name. */
export function isStoredTrace(input: string, cwd: string): boolean {
  return isTraceId(input) && !existsSync(resolve(cwd, input));
}

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readingTerms } from '../../store/connection/connect-store.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { NotFoundError } from '../../domain/errors.ts';
import type { TraceData } from '../../domain/trace/span.ts';
import type { TraceActivity } from '../../store/contracts/stores.ts';
import { isTraceId } from '../arguments.ts';
import type { CommandContext } from '../command.ts';
import { readTraceFiles } from './trace-files.ts';
import type { SessionActivity } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/store.ts';
import { cleanLine } from '../show/clean-text.ts';

/**
 * Finds the activity of a trace by its id: one entry for each tenant that has the trace. Throws `NotFoundError` when no
 * tenant has it.
 */
export async function findStoredTrace(context: CommandContext, traceId: string): Promise<TraceActivity[]> {
  const app = await context.openApp();
  const found = await app.store.spans.findTrace(traceId.toLowerCase());
  if (found.length === 0) {
    throw traceNotFound(traceId);
  }
  return found;
}

/** Returns the error of a trace id that the store does not have. */
export function traceNotFound(traceId: string): NotFoundError {
  return new NotFoundError(
    `trace ${traceId} is not in the store; to list traces: spanscore traces --since 24h`,
  );
}

/** Reads the spans and logs of a stored trace and of the other traces of its run; one entry for each tenant. */
export async function readStoredTrace(context: CommandContext, traceId: string): Promise<TraceData[]> {
  const app = await context.openApp();
  const { readJoinedTraces } = await import('../../scoring/setup/read-traces.ts');
  return readJoinedTraces(app.store.spans, await findStoredTrace(context, traceId));
}

/** True for a trace id, unless a file has this name. */
export function isStoredTrace(input: string, cwd: string): boolean {
  return isTraceId(input) && !existsSync(resolve(cwd, input));
}

/** Reads the traces of files, of stdin (-) and of stored trace ids. */
export async function readInputs(context: CommandContext, inputs: readonly string[]): Promise<TraceData[]> {
  const files = inputs.filter((input) => !isStoredTrace(input, context.cwd));
  const ids = inputs.filter((input) => isStoredTrace(input, context.cwd));
  const traces = files.length === 0 ? [] : await readTracesOfFiles(context, files);
  for (const id of ids) {
    traces.push(...(await readStoredTrace(context, id)));
  }
  return traces;
}

/** Byte limit of all files together: their traces are compared with each other, so they stay in memory. */
const MAX_INPUT_BYTES = 256 * MIB;

async function readTracesOfFiles(context: CommandContext, files: readonly string[]): Promise<TraceData[]> {
  const { openTraceSpool } = await import('../trace-files.ts');
  const { config } = await context.loadConfig();
  const spool = openTraceSpool(readingTerms(config));
  try {
    await readTraceFiles(files, context, (parts) => spool.add(parts), MAX_INPUT_BYTES);
    return spool.take(spool.count()).flatMap((traceId) => spool.read(traceId) ?? []);
  } finally {
    spool.close();
  }
}

/** Finds the sessions of an id, one for each tenant that has it. Throws a `NotFoundError` for an id without a stored run. */
export async function findSession(
  { sessions }: Pick<Store, 'sessions'>,
  sessionId: string,
): Promise<SessionActivity[]> {
  const found = await sessions.find(sessionId);
  if (found.length === 0) {
    throw new NotFoundError(
      `no run of session ${cleanLine(sessionId, 200)} is in the store; a run is stored when its trace is decided`,
    );
  }
  return found;
}

import type { TraceReading } from '../../domain/trace/agent-run.ts';
import { AppError, readErrorMessage } from '../../domain/errors.ts';
import { formatReason } from '../attempt/attempt-failure.ts';
import type { Unscored } from '../record/decision-rows.ts';
import { MAX_MODEL_CALLS } from '../select/targets.ts';
import type { TraceTask } from '../trace-task.ts';
import type { ReadContext } from './read-context.ts';

/**
 * Reads the agent runs of a trace. A reader that throws is a defect of spanscore: the trace gets the decision `failed` all the
 * same. Throws the error of the store when the same read may succeed later.
 */
export async function readContent(
  { readTrace, log }: Pick<ReadContext, 'readTrace' | 'log'>,
  task: TraceTask,
): Promise<TraceReading | Unscored> {
  const { read } = task;
  if (read instanceof AppError) {
    if (read.retryable) {
      throw read;
    }
    return { status: 'failed', reason: formatReason(read.code, read.message) };
  }
  if (read !== null && 'partOf' in read) {
    const detail = `this trace is a piece of the run that is scored as trace ${read.partOf}`;
    return { status: 'not_applicable', reason: formatReason('part_of_run', detail) };
  }
  if (read !== null && 'session' in read) {
    return {
      traceId: '',
      spanCount: 0,
      logCount: 0,
      runs: [read.session],
      notScorable: null,
      notUnderstood: [],
    };
  }
  if (read === null || (read.spans.length === 0 && read.logs.length === 0)) {
    return { status: 'failed', reason: formatReason('evidence_gone', 'the spans are no longer stored') };
  }
  try {
    const needsCalls = task.rules.some(({ rule }) => rule.target === 'model-call');
    return await readTrace(read, needsCalls ? { modelCalls: MAX_MODEL_CALLS } : {});
  } catch (error) {
    log.error('trace could not be read', {
      traceId: task.key.traceId,
      error: readErrorMessage(error),
    });
    return { status: 'failed', reason: formatReason('reading_failed', readErrorMessage(error)) };
  }
}

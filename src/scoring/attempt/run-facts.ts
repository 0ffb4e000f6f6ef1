import { ANSWER_CUT } from '../../domain/trace/agent-run.ts';
import { computeRunCost } from '../select/run-totals.ts';
import type { RecordContext } from '../record/record-context.ts';
import type { AttemptContext } from './attempt-context.ts';
import type { Cell } from './cell.ts';

/** Reads what a run took, and the past of its agent, for scorers that measure runs. Throws what the store throws. */
export async function readRunFacts(
  { task, target, bound }: Cell,
  { agentPasts, prices }: Pick<AttemptContext, 'agentPasts'> & Pick<RecordContext, 'prices'>,
): Promise<Record<string, unknown>> {
  const { run, kind } = target;
  const durationMs = Date.parse(run.endedAt) - Date.parse(run.startedAt);
  return {
    usage: run.usage,
    durationMs: Number.isFinite(durationMs) ? Math.max(0, durationMs) : undefined,
    costUsd: computeRunCost(run, prices),
    ...(run.warnings.some(({ code }) => code === ANSWER_CUT) ? { finishReason: 'length' } : {}),
    past: await agentPasts.find(bound.name, {
      tenant: task.key.tenant,
      target: kind,
      agent: run.agent || run.service || '',
    }),
  };
}

import type { TraceReading } from '../../domain/trace/agent-run.ts';
import type { TraceTask } from '../trace-task.ts';
import type { NewVersions } from './new-versions.ts';
import type { SelectedRule } from './selection.ts';
import { findUnmetContent } from './where.ts';

/**
 * Takes places among the first traces of new versions, for the rules whose conditions the trace meets. A trace without a run gets
 * none. Throws what the store throws.
 */
export async function takeVersionPlaces(
  newVersions: NewVersions,
  task: TraceTask,
  reading: TraceReading,
): Promise<TraceTask> {
  const take = async (selected: SelectedRule): Promise<SelectedRule> => {
    const { rule, pending } = selected;
    const ask = pending?.versionAsk ?? null;
    if (
      pending === null ||
      ask === null ||
      reading.runs.length === 0 ||
      findUnmetContent(rule.where, reading.runs, pending.facts) !== null
    ) {
      return selected;
    }
    const isFirstOfVersion = await newVersions.take(ask);
    return {
      ...selected,
      pending: { ...pending, versionAsk: null, priority: { ...pending.priority, isFirstOfVersion } },
    };
  };
  return { ...task, rules: await Promise.all(task.rules.map(take)) };
}

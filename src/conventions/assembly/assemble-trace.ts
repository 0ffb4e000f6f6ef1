import { clearTransferErrors, handoffResults, mapAsking } from './asked-calls.ts';
import { buildRun } from './build-run.ts';
import { parentsFirst, resolveEnvelopes, takeDelegatedFacts } from './envelopes.ts';
import { foldDuplicates } from './fold-duplicates.ts';
import { buildModelCalls, type ModelCalls } from './model-calls.ts';
import { planRuns } from './plan-runs.ts';
import { listIdentities } from './run-fields.ts';
import type { BuiltRun, RunPlan } from './run-plan.ts';
import { buildTree, findWorkflows, inheritIdentity, inheritInput, notePauses } from './span-tree.ts';
import type { NormalisedSpan } from '../normalised-span.ts';
import type { Steps } from '../steps.ts';
import type { AgentRun, NotScorableReason, ReadingOptions } from '../../domain/trace/agent-run.ts';

export interface AssembledTrace extends Partial<ModelCalls> {
  readonly runs: AgentRun[];
  readonly notScorable: NotScorableReason | null;
}

/**
 * Builds the runs of one trace in order of their start, or the reason why there is none; one run per step. Knows no convention.
 */
export function* assembleTrace(
  traceId: string,
  normalised: readonly NormalisedSpan[],
  { modelCalls = 0 }: ReadingOptions = {},
): Steps<AssembledTrace> {
  const tree = buildTree(normalised);
  yield;
  foldDuplicates(tree.nodes);
  inheritIdentity(tree.nodes);
  inheritInput(tree.nodes);
  notePauses(tree.nodes);
  findWorkflows(tree.nodes);
  yield;
  const plans = resolveEnvelopes(planRuns(tree.nodes));
  clearTransferErrors(plans);
  takeDelegatedFacts(plans);
  const ordered = parentsFirst(plans).toReversed();
  const asked = mapAsking(plans);
  const identities = listIdentities(ordered);
  const transfers = handoffResults(plans);
  const facts = { traceId, asked, identities, transfers };
  const built = new Map<RunPlan, BuiltRun>();
  for (const plan of ordered) {
    yield;
    const subs = plan.subs.flatMap((sub) => built.get(sub) ?? []);
    built.set(plan, yield* buildRun(plan, subs, facts));
  }
  const tops = plans.filter((plan) => plan.parent === null).sort((a, b) => a.root.order - b.root.order);
  const runs = tops.flatMap((plan) => built.get(plan)?.run ?? []);
  return {
    runs,
    notScorable: runs.length > 0 ? null : notScorableReason(tree.evaluations),
    ...(modelCalls > 0 ? yield* buildModelCalls(built, facts, modelCalls) : {}),
  };
}

function notScorableReason(evaluations: number): NotScorableReason {
  if (evaluations > 0) {
    return {
      code: 'evaluation_span',
      detail: 'the trace holds only spans of judges and scorers, which are never scored',
    };
  }
  return {
    code: 'no_agent_or_llm_span',
    detail: 'no span of this trace is an agent run or a model call that a known convention describes',
  };
}

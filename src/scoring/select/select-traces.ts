import type { RunRecord } from '../../domain/run-record.ts';
import type { Score } from '../../domain/score.ts';
import type { TraceFacts } from '../../store/contracts/stores.ts';
import type { ScoringMode } from '../scoring-mode.ts';
import { needsFacts, listOpenRules, selectRule, type TraceCandidate } from './select-rules.ts';
import type { SelectedRule } from './selection.ts';
import type { StoreClock } from '../store-clock.ts';
import type { TraceTask } from '../trace-task.ts';
import type { SelectContext } from './select-context.ts';
import { listAttributeKeys } from './where.ts';

/** A trace whose rules have been selected and whose content is not read yet. */
export type Selected = Omit<TraceTask, 'read'>;

/** Facts about a trace from the store before its content is read. */
export interface TraceLookups {
  readonly facts: TraceFacts | undefined;
  readonly existing: readonly Score[];
  readonly knownRuns: readonly RunRecord[];
  /** Time at which `existing` was read, milliseconds of the monotonic clock. */
  readonly existingReadMs: number;
  readonly clock: StoreClock;
}

/** Reads the facts of the candidates whose open rules need them. */
export async function readFacts(
  { stores }: SelectContext,
  candidates: readonly TraceCandidate[],
  mode: ScoringMode,
): Promise<Map<string, TraceFacts>> {
  if (!mode.selects) {
    return new Map();
  }
  const needing = candidates.filter((candidate) => needsFacts(listOpenRules(candidate, mode).open));
  if (needing.length === 0) {
    return new Map();
  }
  const attributeKeys = new Set(mode.rules.flatMap((rule) => listAttributeKeys(rule.where)));
  return stores.spans.facts(
    needing.map((each) => each.activity),
    [...attributeKeys],
  );
}

/** Decides for each rule whether it scores a trace. */
export function selectTrace(
  candidate: TraceCandidate,
  { facts, existing, existingReadMs, knownRuns, clock }: TraceLookups,
  mode: ScoringMode,
): Selected {
  const { activity } = candidate;
  const { open, settled } = listOpenRules(candidate, mode);
  const selections = open.map((each) => selectRule(each, candidate, facts, mode));
  const key = { tenant: activity.tenant, traceId: activity.traceId };
  return {
    key,
    claim: candidate.claim,
    activity,
    rules: selections.flatMap((each): SelectedRule[] => (each.outcome === 'selected' ? [each.selected] : [])),
    declined: selections.filter((each) => each.outcome === 'declined'),
    settled,
    facts,
    knownRuns,
    existing,
    existingReadMs,
    reread: candidate.reread,
    room: candidate.room,
    clock,
  };
}

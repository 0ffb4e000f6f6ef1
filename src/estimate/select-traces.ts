import { SOLE_CLAIMS } from '../ownership/ownership.ts';
import { readStoreClock } from '../scoring/live/timers.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import { readFacts, selectTrace, type Selected } from '../scoring/select/select-traces.ts';
import { computeWaitUntil } from '../scoring/select/select-rules.ts';
import { joinTraceKey, type TraceKey } from '../store/contracts/stores.ts';

/** Trace whose rules are selected, before its content is read. */
export interface LookedTrace extends Selected {
  /** True for a trace that may still get spans: live scoring waits for it. */
  readonly isArriving: boolean;
}

/** Selects the rules of traces as scoring does before it reads their content. At most 500 traces. Throws what the store throws. */
export async function lookAtTraces(
  scoring: Scoring,
  mode: ScoringMode,
  keys: readonly TraceKey[],
): Promise<LookedTrace[]> {
  const { stores } = scoring;
  const clock = await readStoreClock(stores.spans, scoring.monotonicMs);
  const [activities, decisions, existing] = await Promise.all([
    stores.spans.activity(keys),
    stores.decisions.ofTraces(keys),
    stores.scores.ofTraces(keys),
  ]);
  const names = new Set(mode.rules.map(({ name }) => name));
  const candidates = [...activities.values()].map((activity) => ({
    activity,
    claim: SOLE_CLAIMS.claim(activity),
    prior: (decisions.get(joinTraceKey(activity)) ?? []).filter((row) => names.has(row.rule)),
    reread: false,
    nowMs: clock.nowMs(),
  }));
  const facts = await readFacts(scoring, candidates, mode);
  return candidates.map((candidate) => {
    const key = joinTraceKey(candidate.activity);
    const lookups = {
      facts: facts.get(key),
      existing: existing.get(key) ?? [],
      existingReadMs: scoring.monotonicMs(),
      knownRuns: [],
      clock,
    };
    const isArriving = computeWaitUntil(candidate, scoring.readiness) !== null;
    return { ...selectTrace(candidate, lookups, mode), isArriving };
  });
}

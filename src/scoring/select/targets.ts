import type { AgentRun, NotScorableReason, TargetKind, TraceReading } from '../../domain/agent-run.ts';

/** One thing to score in a trace. */
export interface ScoringTarget {
  readonly kind: TargetKind;
  readonly targetId: string;
  readonly run: AgentRun;
}

/** Most targets of one trace that are scored: a bound on the cost of one hostile or endless trace. */
export const MAX_TARGETS = 200;

/**
 * The targets of a trace: its independent runs (the n-th, from 0, is `<traceId>/n`, the first the plain trace id: never the
 * root span's id, which may arrive late), or every agent called below them (`<traceId>/<spanId>`).
 */
export function listTargets(reading: TraceReading, kind: TargetKind): ScoringTarget[] {
  if (kind === 'trace') {
    return reading.runs.slice(0, MAX_TARGETS).map((run, index) => ({
      kind,
      targetId: index === 0 ? reading.traceId : `${reading.traceId}/${index}`,
      run,
    }));
  }
  const seen = new Set<string>();
  return listSubRuns(reading.runs).flatMap((run) => {
    const targetId = `${reading.traceId}/${run.target.spanId}`;
    if (seen.has(targetId) || seen.size >= MAX_TARGETS) {
      return [];
    }
    seen.add(targetId);
    return [{ kind, targetId, run }];
  });
}

/** Reason why a trace has no target of this kind. */
export function noTargetReason(reading: TraceReading, kind: TargetKind): NotScorableReason {
  if (reading.notScorable !== null) {
    return reading.notScorable;
  }
  return {
    code: 'no_agent_or_llm_span',
    detail:
      kind === 'agent' && reading.runs.length > 0
        ? 'the trace has agent runs, but no agent called below one'
        : 'the trace has no agent or model span that is understood',
  };
}

function listSubRuns(runs: readonly AgentRun[]): AgentRun[] {
  const found: AgentRun[] = [];
  const open = [...runs].toReversed();
  for (let run = open.pop(); run !== undefined; run = open.pop()) {
    for (const subRun of run.subRuns) {
      found.push(subRun);
      open.push(subRun);
    }
  }
  return found;
}

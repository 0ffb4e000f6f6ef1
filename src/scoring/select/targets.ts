import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { AgentRun, NotScorableReason, TargetKind, TraceReading } from '../../domain/trace/agent-run.ts';

/** One agent run of a trace to score. */
export interface ScoringTarget {
  readonly kind: TargetKind;
  readonly targetId: string;
  readonly run: AgentRun;
}

/** Most targets of one trace that are scored, so that a hostile or endless trace cannot cost without limit. */
export const MAX_TARGETS = 200;

/** Most model calls of one trace that are scored, earliest first. */
export const MAX_MODEL_CALLS = 100;

/**
 * Lists the targets of a trace. For `trace`: its independent runs, with the ids `<traceId>`, `<traceId>/1`, `<traceId>/2` and so on;
 * the id of the root span is not used, because that span may arrive late. For `agent`: every agent called below these runs,
 * with the id `<traceId>/<spanId>`. For `model-call`: the calls that were read, with the id `<traceId>/<spanId>`.
 * For `session`: the one run of a session that was read.
 */
export function listTargets(reading: TraceReading, kind: TargetKind): ScoringTarget[] {
  if (kind === 'trace') {
    return reading.runs.slice(0, MAX_TARGETS).map((run, index) => ({
      kind,
      targetId: index === 0 ? reading.traceId : `${reading.traceId}/${index}`,
      run,
    }));
  }
  if (kind === 'session') {
    return reading.runs.map((run) => ({ kind, targetId: buildSessionTargetId(run.sessionId ?? ''), run }));
  }
  const seen = new Set<string>();
  const runs = kind === 'model-call' ? (reading.modelCalls ?? []) : listSubRuns(reading.runs);
  return runs.flatMap((run) => {
    const targetId = `${reading.traceId}/${run.target.spanId}`;
    if (seen.has(targetId) || seen.size >= MAX_TARGETS) {
      return [];
    }
    seen.add(targetId);
    return [{ kind, targetId, run }];
  });
}

/** Describes the targets of a trace that are beyond the limit; null when all are listed. The runs' one has the id of the first of them. */
export function describeLeftOut(reading: TraceReading, kind: TargetKind) {
  const { traceId, runs, modelCallsLeftOut = 0 } = reading;
  const describe = (total: number, what: string, most: number) =>
    `the trace has ${total} ${what}; the first ${most} are scored`;
  if (kind === 'model-call' && modelCallsLeftOut > 0) {
    const detail = describe(MAX_MODEL_CALLS + modelCallsLeftOut, 'model calls', MAX_MODEL_CALLS);
    return { targetId: traceId, code: 'too_many_calls', detail };
  }
  if (kind === 'trace' && runs.length > MAX_TARGETS) {
    const detail = describe(runs.length, 'runs', MAX_TARGETS);
    return { targetId: `${traceId}/${MAX_TARGETS}`, code: 'too_many_targets', detail };
  }
  const agents = kind === 'agent' ? new Set(listSubRuns(runs).map(({ target }) => target.spanId)).size : 0;
  return agents > MAX_TARGETS
    ? { targetId: traceId, code: 'too_many_targets', detail: describe(agents, 'called agents', MAX_TARGETS) }
    : null;
}

export function explainNoTarget(reading: TraceReading, kind: TargetKind): NotScorableReason {
  if (reading.notScorable !== null) {
    return reading.notScorable;
  }
  return {
    code: 'no_agent_or_llm_span',
    detail:
      reading.runs.length > 0
        ? `the trace has agent runs, but no ${kind === 'agent' ? 'agent called below one' : 'model call'}`
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

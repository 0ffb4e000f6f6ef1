import type { Decision } from '../../domain/decision.ts';
import type { Score } from '../../domain/score.ts';
import type { PreviewedTraceView, PreviewView } from '../lists/preview-view.ts';
import { createTextCutter } from './cut-texts.ts';
import { isoTime } from './time-json.ts';

/** Formats a preview as JSON, with big texts cut: the same for the API and the command. */
export function previewJson({ rule, inForce, estimate, weeks, traces, monitors, ...view }: PreviewView) {
  const { fromMs, toMs, matched, selected, left, isComplete } = view;
  const cutter = createTextCutter();
  const aWeek = (usd: number | null) => (usd === null ? null : usd / weeks);
  const costs = traces.flatMap(({ scores, decisions }) => [
    ...scores.map(({ costUsd }) => costUsd),
    ...decisions.flatMap(({ status, costUsd }) => (status === 'scored' ? [] : [costUsd ?? 0])),
  ]);
  return {
    rule: {
      name: rule.name,
      target: rule.target,
      scorers: rule.scorers.map(({ name, fingerprint, judgeModel }) => ({
        scorer: name,
        fingerprint,
        judge: judgeModel,
      })),
      inForce:
        inForce === null ? null : { activeFrom: isoTime(inForce.activeFromMs), isSame: inForce.isSame },
    },
    from: isoTime(fromMs),
    to: isoTime(toMs),
    matched,
    selected,
    left,
    isComplete,
    estimate,
    perWeek: {
      traces: selected / weeks,
      judgeCalls: estimate.judgeCalls / weeks,
      costUsd: aWeek(estimate.costUsd),
      costLow: aWeek(estimate.costLow),
      costHigh: aWeek(estimate.costHigh),
    },
    costUsd: costs.reduce<number | null>(
      (sum, cost) => (sum === null || cost === null ? null : sum + cost),
      0,
    ),
    traces: traces.map((trace) => {
      const cut = trace.reading === null ? null : cutter.cut(trace.reading);
      return {
        ...trace.key,
        sessionId: trace.sessionId,
        reading: cut === null ? null : { ...cut.value, truncated: cut.truncated },
        verdicts: listVerdicts(trace),
        error: trace.error?.message ?? null,
      };
    }),
    monitors: monitors.map(({ alert, series, scores, firedAtMs }) => ({
      alert,
      series,
      scores,
      firedAt: firedAtMs.map(isoTime),
    })),
  };
}

function listVerdicts({ scores, decisions, stored }: PreviewedTraceView) {
  return [
    ...scores.map((score) => ({
      target: score.target,
      targetId: score.targetId,
      scorer: score.scorer,
      status: 'scored' as const,
      reason: score.reason,
      score: score.score,
      label: score.label,
      costUsd: score.costUsd,
      stored: findStored(stored, score),
    })),
    ...decisions
      .filter(({ status }) => status !== 'scored')
      .map((row) => ({
        target: row.target,
        targetId: row.targetId,
        scorer: row.scorer,
        status: row.status,
        reason: row.reason,
        score: null,
        label: '',
        costUsd: row.costUsd,
        stored: findStored(stored, row),
      })),
  ];
}

function findStored(
  stored: readonly Score[],
  { scorer, targetId, fingerprint }: Pick<Decision | Score, 'scorer' | 'targetId' | 'fingerprint'>,
) {
  const [newest] = stored
    .filter((score) => score.scorer === scorer && score.targetId === targetId)
    .toSorted((a, b) => b.scoredAt - a.scoredAt);
  return newest === undefined
    ? null
    : {
        score: newest.score,
        label: newest.label,
        scoredAt: isoTime(newest.scoredAt),
        source: newest.source,
        isSameScorer: newest.fingerprint === fingerprint,
      };
}

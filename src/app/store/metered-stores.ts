import type { ScoringStores } from '../../scoring/scoring.ts';
import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import type { MetricWriter } from '../../telemetry/metrics.ts';

/** Wraps stores and counts the rows written to them. */
export function meteredStores(stores: ScoringStores, metrics: MetricWriter): ScoringStores {
  const { decisions, scores, judgeCalls } = stores;
  return {
    ...stores,
    decisions: {
      ...decisions,
      async write(written) {
        await decisions.write(written);
        for (const [status, count] of countBy(written, (decision) => decision.status)) {
          metrics.add('spanscore.decisions', count, { status });
        }
      },
    },
    scores: {
      ...scores,
      async write(written) {
        await scores.write(written);
        const rows = written.filter((score) => !score.isDeleted);
        for (const [scorer, count] of countBy(rows, (score) => score.scorer)) {
          metrics.add('spanscore.scores.written', count, { scorer });
        }
      },
    },
    judgeCalls: {
      ...judgeCalls,
      async write(calls) {
        await judgeCalls.write(calls);
        calls.forEach((call) => countCall(call, metrics));
      },
    },
  };
}

function countCall(call: JudgeCallRecord, metrics: MetricWriter): void {
  const { model, status, inputTokens, outputTokens, durationMs } = call;
  metrics.add('spanscore.judge.calls', 1, { model, status });
  metrics.record('spanscore.judge.duration', durationMs / 1_000, { model });
  metrics.add('spanscore.judge.tokens', inputTokens ?? 0, { model, type: 'input' });
  metrics.add('spanscore.judge.tokens', outputTokens ?? 0, { model, type: 'output' });
}

function countBy<T>(items: readonly T[], computeKey: (item: T) => string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) {
    const key = computeKey(item);
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return counts;
}

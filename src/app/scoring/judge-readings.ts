import type { Scoring } from '../../scoring/scoring.ts';
import type { Reading } from '../../telemetry/metrics.ts';

/** Label of a scorer without a judge. */
const NO_JUDGE = 'none';

/** Returns the metrics of judges in this process. */
export function judgeReadings({ judgeHealth }: Pick<Scoring, 'judgeHealth'>): Reading[] {
  return judgeHealth.states().flatMap(({ judge, scorer, state, kinds }) => {
    const labels = { judge: judge === '' ? NO_JUDGE : judge, scorer };
    return [
      { name: 'spanscore.judge.failing', value: state === 'failing' ? 1 : 0, labels } as const,
      ...Object.entries(kinds).map(
        ([kind, value]) =>
          ({ name: 'spanscore.judge.failures', value, labels: { ...labels, kind } }) as const,
      ),
    ];
  });
}

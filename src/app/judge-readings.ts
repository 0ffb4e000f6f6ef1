import type { Scoring } from '../scoring/scoring.ts';
import type { Reading } from '../telemetry/metrics.ts';

/** Label of a scorer without a judge. */
const NO_JUDGE = 'none';

/** Returns the metrics of judges and budgets in this process. */
export function judgeReadings({ judgeHealth, budget }: Pick<Scoring, 'judgeHealth' | 'budget'>): Reading[] {
  return [
    ...judgeHealth.states().flatMap(({ judge, scorer, state, kinds }) => {
      const labels = { judge: judge === '' ? NO_JUDGE : judge, scorer };
      return [
        { name: 'spanscore.judge.failing', value: state === 'failing' ? 1 : 0, labels } as const,
        ...Object.entries(kinds).map(
          ([kind, value]) =>
            ({ name: 'spanscore.judge.failures', value, labels: { ...labels, kind } }) as const,
        ),
      ];
    }),
    ...budget.readings().flatMap(({ scope: { kind, name }, period, spentUsd, reservedUsd, capUsd }) => {
      const labels = {
        scope: kind,
        rule: kind === 'rule' ? name : '',
        tenant: kind === 'tenant' ? name : '',
        period,
      };
      return Object.entries({ spent: spentUsd, reserved: reservedUsd, cap: capUsd }).map(
        ([state, value]) => ({ name: 'spanscore.budget', value, labels: { ...labels, state } }) as const,
      );
    }),
  ];
}

import type { Contender } from '../../support/monitors/drift-simulation.ts';
import { eachScore } from './each-score.ts';

/** A detector that takes scores one by one, fires at a moment, and has no state of alarm. */
export function momentary(name: string, buildStep: () => (score: number) => boolean): Contender {
  return {
    name,
    start(reference) {
      const takeScore = buildStep();
      const take = (bucket: Parameters<typeof eachScore>[0]): boolean => {
        let fired = false;
        for (const score of eachScore(bucket)) {
          fired = takeScore(score) || fired;
        }
        return fired;
      };
      reference.forEach(take);
      return take;
    },
  };
}

import type { Contender } from '../../support/drift-simulation.ts';
import { eachScore } from './each-score.ts';

/** A detector that takes scores one by one, fires at a moment, and has no state of alarm. */
export function momentary(name: string, stepOf: () => (score: number) => boolean): Contender {
  return {
    name,
    start(reference) {
      const takeScore = stepOf();
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

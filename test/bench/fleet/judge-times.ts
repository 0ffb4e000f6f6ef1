import type { FleetSettings } from './fleet-settings.ts';

/** Part of the mean by which a second of the judge may differ. */
const SPREAD = 0.2;

/** Time of judge calls over the simulated time. */
export interface JudgeTimes {
  /** Returns the mean time of a call in a second; asked for rising seconds only. */
  at(second: number): number;
}

/** Creates the times of a judge that is slow now and then. The times between the beginnings of slow times are exponential. */
export function createJudgeTimes(
  settings: Pick<FleetSettings, 'judgeMs' | 'slowFactor' | 'slowForS' | 'slowEveryS'>,
  random: () => number,
): JudgeTimes {
  const { judgeMs, slowFactor, slowForS, slowEveryS } = settings;
  const drawPauseS = () => -Math.log(1 - random()) * slowEveryS;
  let beginsAtS = drawPauseS();
  return {
    at(second) {
      while (second >= beginsAtS + slowForS) {
        beginsAtS += Math.max(slowForS, drawPauseS());
      }
      const factor = second >= beginsAtS ? slowFactor : 1;
      return judgeMs * factor * (1 - SPREAD + 2 * SPREAD * random());
    },
  };
}

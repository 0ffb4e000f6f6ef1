/** Traces that became ready in the same second. */
export interface Cohort {
  readonly readyAtS: number;
  readonly traces: number;
}

/** Traces that wait, in the order in which they became ready. */
export interface Backlog {
  add(cohort: Cohort): void;
  /** Takes up to so many of the oldest traces. */
  takeOldest(traces: number): Cohort[];
  /** Takes up to so many of the newest traces. */
  takeNewest(traces: number): Cohort[];
  size(): number;
}

/** Creates an empty backlog. */
export function createBacklog(): Backlog {
  let cohorts: Cohort[] = [];
  let size = 0;
  /** False after a cohort came that is older than the last one. It is sorted in when traces are taken. */
  let isSorted = true;
  const take = (wanted: number, next: () => Cohort | undefined, putBack: (rest: Cohort) => void) => {
    const taken: Cohort[] = [];
    cohorts = isSorted ? cohorts : cohorts.toSorted((a, b) => a.readyAtS - b.readyAtS);
    isSorted = true;
    for (let left = Math.min(wanted, size); left > 0;) {
      const cohort = next();
      if (cohort === undefined) {
        break;
      }
      const { readyAtS, traces } = cohort;
      const part = Math.min(left, traces);
      taken.push({ readyAtS, traces: part });
      if (part < traces) {
        putBack({ readyAtS, traces: traces - part });
      }
      left -= part;
      size -= part;
    }
    return taken;
  };
  return {
    add(cohort) {
      if (cohort.traces === 0) {
        return;
      }
      size += cohort.traces;
      isSorted &&= cohort.readyAtS >= (cohorts.at(-1)?.readyAtS ?? 0);
      cohorts.push(cohort);
    },
    takeOldest: (traces) =>
      take(
        traces,
        () => cohorts.shift(),
        (rest) => cohorts.unshift(rest),
      ),
    takeNewest: (traces) =>
      take(
        traces,
        () => cohorts.pop(),
        (rest) => cohorts.push(rest),
      ),
    size: () => size,
  };
}

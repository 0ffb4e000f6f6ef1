/** Numbers of answers that judges did not have to give again, since the start of the process. */
export interface JudgeReuses {
  add(tenant: string, judge: string): void;
  /** Counts the answers of a judge for a tenant; undefined: for all tenants. */
  count(judge: string, tenant?: string): number;
}

/** Creates counts that begin at 0. */
export function createJudgeReuses(): JudgeReuses {
  const counts = new Map<string, Map<string, number>>();
  return {
    add: (tenant, judge) => {
      const ofJudge = counts.get(judge) ?? new Map<string, number>();
      counts.set(judge, ofJudge.set(tenant, (ofJudge.get(tenant) ?? 0) + 1));
    },
    count: (judge, tenant) => {
      const ofJudge = counts.get(judge) ?? new Map<string, number>();
      return tenant === undefined
        ? [...ofJudge.values()].reduce((sum, count) => sum + count, 0)
        : (ofJudge.get(tenant) ?? 0);
    },
  };
}

import { MEMBER_TTL_MS } from '../../ownership/ownership.ts';
import type { DutyStore } from '../../store/contracts/duties.ts';
import { AGGREGATE_DUTY } from '../aggregates/start-aggregates.ts';

/** Returns true when a process with the role `scorer` runs on the store: each of them is a candidate for the aggregates. */
export async function hasLiveScorer(duties: Pick<DutyStore, 'readMembers'>): Promise<boolean> {
  return (await duties.readMembers([AGGREGATE_DUTY], MEMBER_TTL_MS)).length > 0;
}

import { hasLiveScorer } from '../../app/scoring/live-scorers.ts';
import { StoreUnavailableError } from '../../domain/errors.ts';
import type { DutyStore } from '../../store/contracts/duties.ts';

/** Throws `store_unavailable` when no process would run a job that the command leaves. */
export async function requireLiveScorer(duties: Pick<DutyStore, 'readMembers'>): Promise<void> {
  if (!(await hasLiveScorer(duties))) {
    throw new StoreUnavailableError(
      'no process with the role scorer runs on this store, so nobody would do the work: start spanscore serve, or leave out --detach',
    );
  }
}

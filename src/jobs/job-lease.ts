import { startDuties, type DutyOptions } from '../ownership/duties.ts';
import type { DutyStore } from '../store/contracts/duties.ts';

/** Candidacy for the lease of a job: of all candidates that live, the first one has it. */
export interface JobLease {
  /** Returns the number of the epoch in which this process has the lease; undefined while it has none. Throws when the store does. */
  readEpoch(): Promise<number | undefined>;
  /** Ends the candidacy: the next candidate has the lease at once. A failure only delays it. */
  leave(): Promise<void>;
}

/** Makes this process a candidate. Each candidacy has members of its own, so that it can end and begin again. */
export function joinLease(store: DutyStore, jobId: string, options: DutyOptions = {}): JobLease {
  const duty = `job ${jobId}`;
  const duties = startDuties(store, options);
  duties.join([duty]);
  return {
    readEpoch: () => duties.readEpoch(duty),
    leave: async () => {
      duties.stop();
      await duties.leave(duty).catch(() => undefined);
    },
  };
}

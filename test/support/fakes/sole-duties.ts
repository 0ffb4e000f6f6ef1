import type { ReceiverDuties } from '../../../src/delivery/deliver.ts';

/** The duties of a process that is alone on its store. */
export const soleDuties: ReceiverDuties = {
  readEpoch: () => Promise.resolve(1),
  leave: () => Promise.resolve(),
};

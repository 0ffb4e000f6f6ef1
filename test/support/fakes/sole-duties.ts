import type { ExporterDuties } from '../../../src/outbound/exporters/score-export-loop.ts';

/** The duties of a process that is alone on its store. */
export const soleDuties: ExporterDuties = {
  readEpoch: () => Promise.resolve(1),
  leave: () => Promise.resolve(),
};

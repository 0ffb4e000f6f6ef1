import { z } from 'zod';
import { wholeNumber } from './fields.ts';

/** Schema of live scoring: memory, and the order under a backlog. */
export const Scoring = z.strictObject({
  maxTracesInMemory: wholeNumber(
    'Most traces whose content is in memory at the same time. Further traces wait as ids.',
    { unit: 'traces', min: 10, max: 100_000 },
  ).default(2_000),
  newestShare: z
    .number()
    .min(0, { error: 'must be between 0 and 1' })
    .max(1, { error: 'must be between 0 and 1' })
    .default(0.5)
    .describe(
      'Share of the judge calls that go to the newest traces while more traces wait than judges can score; the others go to the oldest.',
    )
    .meta({ unit: 'share' }),
});

import { z } from 'zod';
import { DAY_MS, HOUR_MS } from '../../domain/durations.ts';
import { duration, wholeNumber } from './fields.ts';

export const DEFAULT_CATCH_UP = '3d';

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
  readByShape: z
    .boolean()
    .default(true)
    .describe(
      'Reads spans that no convention describes by the form of their values. With `false` they stay not understood.',
    ),
  catchUp: duration(
    'Age of a trace up to which it is scored later when a budget held it back. Beyond it, its decision is failed: budget_exhausted. Never more than store.retention.spans.',
    { minMs: HOUR_MS, minText: '1h', maxMs: 30 * DAY_MS, maxText: '30d' },
  ).default(DEFAULT_CATCH_UP),
  catchUpOrder: z
    .enum(['newest-first', 'oldest-first'])
    .default('newest-first')
    .describe(
      'Order in which traces and sessions are scored that a budget held back, when it has money again.',
    ),
});

import { expect, it } from 'vitest';
import type { PostedScore } from '../../../src/api/writes/posted-scores.ts';
import { postScores, type PostDeps } from '../../../src/api/writes/posted-scores.ts';
import { InvalidInputError } from '../../../src/domain/errors.ts';
import { NOTHING_PURGED } from '../../../src/store/contracts/purge.ts';

const PURGED: PostedScore = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: '',
  sessionId: '',
  scorer: 'correctness',
  score: 1,
  label: '',
  reason: '',
  source: 'human',
};

/** Posts to a store where one trace was purged. Returns the paths of the faults. */
async function readFaults(posted: PostedScore | readonly PostedScore[]): Promise<unknown> {
  const purged = { ...NOTHING_PURGED, has: ({ traceId }: { traceId: string }) => traceId === PURGED.traceId };
  const deps = { store: {}, purged, reopenMs: 0 } as unknown as PostDeps;
  const error = await postScores(deps, { name: 'ann', tenant: 'a' }, posted).catch(
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InvalidInputError);
  const { errors } = (error as InvalidInputError).details as { errors: { path: string }[] };
  return errors.map(({ path }) => path);
}

it('a fault of one score names its field, and one of a list also the place', async () => {
  expect(await readFaults(PURGED)).toEqual(['traceId']);
  const sound = { ...PURGED, traceId: '1'.repeat(32) };
  expect(await readFaults([sound, PURGED])).toEqual(['[1].traceId']);
});

import { AppError } from '../../domain/errors.ts';
import type { Claim } from '../../ownership/claim.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';
import type { SessionKey } from '../../store/contracts/sessions.ts';

/** Guards a claim on a session: it ends when turns of the session are purged, because they may have been read. */
export function endWithPurge(claim: Claim, purged: PurgedTraces, key: SessionKey): Claim {
  const mark = purged.mark();
  return {
    ...claim,
    check: async () => {
      await claim.check();
      await purged.renew();
      if (purged.isTouched(key, mark)) {
        throw new AppError('turns of the session were purged while it was scored', {
          code: 'cancelled',
          stage: 'judge',
          retryable: true,
          details: { isPurged: true },
        });
      }
    },
  };
}

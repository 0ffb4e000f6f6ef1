import { NotFoundError } from '../../domain/errors.ts';
import type { SessionActivity } from '../../store/contracts/sessions.ts';
import type { Store } from '../../store/contracts/store.ts';
import { cleanLine } from '../show/clean-text.ts';

/** Finds the sessions of an id, one for each tenant that has it. Throws a `NotFoundError` for an id without a stored run. */
export async function findSession(
  { sessions }: Pick<Store, 'sessions'>,
  sessionId: string,
): Promise<SessionActivity[]> {
  const found = await sessions.find(sessionId);
  if (found.length === 0) {
    throw new NotFoundError(
      `no run of session ${cleanLine(sessionId, 200)} is in the store; a run is stored when its trace is decided`,
    );
  }
  return found;
}

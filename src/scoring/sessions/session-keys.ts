import type { Decision } from '../../domain/decision.ts';
import { buildSessionTargetId, HASHED_SESSION } from '../../domain/session-target.ts';
import type { SessionKey, SessionStore } from '../../store/contracts/sessions.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';

/**
 * Finds the sessions of decisions, keyed by `joinTraceKey` with the target id in the place of the trace id. A long id is looked up; one
 * whose runs have expired is absent.
 */
export async function findSessionKeys(
  sessions: Pick<SessionStore, 'findIds'>,
  decisions: readonly Pick<Decision, 'tenant' | 'targetId'>[],
): Promise<Map<string, SessionKey>> {
  const plain = decisions.filter(({ targetId }) => !targetId.startsWith(HASHED_SESSION));
  const hashed = decisions.filter(({ targetId }) => targetId.startsWith(HASHED_SESSION));
  const keys = [
    ...plain.map(({ tenant, targetId }) => ({ tenant, sessionId: targetId })),
    ...(await sessions.findIds(hashed)),
  ];
  return new Map(
    keys.map((key) => [
      joinTraceKey({ tenant: key.tenant, traceId: buildSessionTargetId(key.sessionId) }),
      key,
    ]),
  );
}

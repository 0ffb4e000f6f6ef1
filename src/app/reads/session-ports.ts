import type { SessionPorts } from '../../api/lists/read-ports.ts';
import { NotFoundError, SeveralTenantsError } from '../../domain/errors.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { Store } from '../../store/contracts/store.ts';
import { hideConditions, narrowTenant, type ScopeOptions } from './scope-options.ts';

/** Most turns of a session that are read. */
const MAX_TURNS = 500;

/** Creates the ports of sessions for one tenant, or for all. */
export function createSessionPorts(store: Store, { tenant }: ScopeOptions): SessionPorts {
  const { lists, sessions, spans } = store;
  return {
    list: (filters, page) => lists.sessions({ ...filters, tenant }, page),
    read: async ({ sessionId, tenant: asked }) => {
      const found = await lists.sessionsOf(sessionId, narrowTenant(tenant, asked));
      if (found.length > 1) {
        throw new SeveralTenantsError(
          `session ${sessionId}`,
          found.map((each) => each.tenant),
        );
      }
      const [session] = found;
      if (session === undefined) {
        throw new NotFoundError(
          'no turn of this session is in the store; a turn is stored when its trace is decided. GET /api/v1/sessions lists sessions',
        );
      }
      const [{ turns, count }, decisions, nowMs] = await Promise.all([
        sessions.turns(session, MAX_TURNS),
        sessions.decisions(session.tenant, [buildSessionTargetId(sessionId)]),
        spans.nowMs(),
      ]);
      const traces = await lists.tracesOf(turns);
      const inOrder = traces.toSorted(
        (a, b) => a.startedAtMs - b.startedAtMs || (a.traceId < b.traceId ? -1 : 1),
      );
      return {
        session,
        turns: inOrder,
        omittedTurns: count - turns.length,
        decisions: hideConditions(decisions, tenant),
        nowMs,
      };
    },
  };
}

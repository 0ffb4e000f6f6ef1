import { NotFoundError, SeveralTenantsError } from '../../domain/errors.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { ListFilters, ListPage } from '../../store/contracts/lists.ts';
import type { Store } from '../../store/contracts/store.ts';
import { hideConditions, narrowTenant, type Scope } from './scope.ts';

/** Most turns of a session that are read. */
const MAX_TURNS = 500;

/** One session with its newest turns, the oldest of them first. */
export type SessionView = Awaited<ReturnType<ReturnType<typeof createSessionReads>['read']>>;

/** Creates the reads of sessions for one tenant, or for all. */
export function createSessionReads(store: Store, { tenant }: Scope) {
  const { lists, sessions, spans } = store;
  return {
    /** Newest first, by the start of the first turn. */
    list: (filters: ListFilters, page: ListPage) => lists.sessions({ ...filters, tenant }, page),
    /** Throws a `NotFoundError` for a session that the tenant does not have, and a `SeveralTenantsError` for one that several have. */
    read: async ({
      sessionId,
      tenant: asked,
    }: {
      readonly sessionId: string;
      readonly tenant?: string | undefined;
    }) => {
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

import type { ListStore } from '../contracts/lists.ts';
import type { Database } from '../database.ts';
import { listScores, readWorstScores } from './score-list.ts';
import { listSessions, readSessionsOf } from './session-list.ts';
import { countTraceFacets } from './trace-facets.ts';
import { listTraces, listWorstTraces, readListedTraces, readTenantsOf } from './trace-list.ts';

/** Creates the store of lists for people. */
export function createListStore(database: Database): ListStore {
  return {
    scores: (filters, page) => listScores(database, filters, page),
    worstScores: (filters, limit) => readWorstScores(database, filters, limit),
    traces: (filters, page) => listTraces(database, filters, page),
    worstTraces: (filters, limit) => listWorstTraces(database, filters, limit),
    traceFacets: (filters, of) => countTraceFacets(database, filters, of),
    tracesOf: (keys) => readListedTraces(database, keys),
    tenantsOf: (traceId) => readTenantsOf(database, traceId),
    sessions: (filters, page) => listSessions(database, filters, page),
    sessionsOf: (sessionId, tenant) => readSessionsOf(database, sessionId, tenant),
  };
}

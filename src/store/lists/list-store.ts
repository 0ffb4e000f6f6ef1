import { bind, type Database } from '../database.ts';
import { listScores, readWorstScores } from './score-list.ts';
import { listSessions, readSessionsOf } from './session-list.ts';
import { countTraceFacets } from './trace-facets.ts';
import { listTraces, listWorstTraces, readListedTraces, readTenantsOf } from './trace-list.ts';

/** Creates the store of lists for people, by keys that a new row does not move. */
export function createListStore(database: Database) {
  return bind(database, {
    scores: listScores,
    worstScores: readWorstScores,
    traces: listTraces,
    worstTraces: listWorstTraces,
    traceFacets: countTraceFacets,
    tracesOf: readListedTraces,
    tenantsOf: readTenantsOf,
    sessions: listSessions,
    sessionsOf: readSessionsOf,
  });
}

export type ListStore = ReturnType<typeof createListStore>;

import type { ChdbSession } from './chdb-session.ts';
import { EngineError } from '../engine-error.ts';
import type { EngineRequest } from '../engine-request.ts';
import type { PooledSession, SessionPool } from './session-pool.ts';
import { sqlString } from '../sql-statement.ts';
import { quoteName } from '../../quote-name.ts';

/**
 * End of a statement. Output of a failed statement stays in its connection and appears before the next reply (seen with chdb
 * 3.4.0), so a session is used again only after a statement that was read to its end.
 */
export type Outcome = 'done' | 'failed';

/** Session prepared for one request. */
export interface Lease {
  readonly session: ChdbSession;
  /** Resets and returns the session. Must be called once, when no statement runs on it. */
  readonly finish: (outcome: Outcome) => Promise<void>;
}

/** One `SET` of settings and of query parameters, and of the settings that get their default again; '' for none. */
function setStatement(
  settings: ReadonlyMap<string, string>,
  parameters: ReadonlyMap<string, string>,
  reset: Iterable<string>,
): string {
  const assignments = [
    ...[...settings].map(([name, value]) => `${name}=${sqlString(value)}`),
    ...[...reset].map((name) => `${name}=DEFAULT`),
    ...[...parameters].map(([name, value]) => `param_${name}=${sqlString(value)}`),
  ];
  return assignments.length === 0 ? '' : `SET ${assignments.join(', ')}`;
}

/** Returns the parameters that the statement names. Throws an `EngineError` for one without a value. */
function listParameters({ statement, parameters }: EngineRequest): Map<string, string> {
  const given = [...statement.parameters].map((name): [string, string] => {
    const value = parameters.get(name);
    if (value === undefined) {
      throw new EngineError('UNKNOWN_QUERY_PARAMETER', `Substitution \`${name}\` is not set`);
    }
    return [name, value];
  });
  return new Map(given);
}

/** Sets what the request needs and the session does not have: database, settings, parameters. */
async function prepare(
  { session, database, settings }: PooledSession,
  request: EngineRequest,
): Promise<void> {
  const use = request.database === database ? '' : `USE ${quoteName(request.database)}`;
  const changed = [...request.settings].filter(([name, value]) => settings.get(name) !== value);
  const left = [...settings.keys()].filter((name) => !request.settings.has(name));
  const set = setStatement(new Map(changed), listParameters(request), left);
  const prelude = [use, set].filter((statement) => statement !== '').join('; ');
  if (prelude !== '') {
    await session.queryAsync(prelude, { format: 'Null' });
  }
}

/** Prepares a session of the pool. A session whose settings cannot be changed (`readonly` locks them) is replaced by a new one. */
async function prepareChangeable(
  pool: SessionPool,
  lent: PooledSession,
  request: EngineRequest,
): Promise<PooledSession> {
  try {
    await prepare(lent, request);
    return lent;
  } catch (error) {
    if (lent.settings.size === 0) {
      pool.release(lent, true);
      throw error;
    }
  }
  const fresh = pool.replace(lent);
  try {
    await prepare(fresh, request);
    return fresh;
  } catch (error) {
    pool.release(fresh, true);
    throw error;
  }
}

/**
 * Lends a session of the pool for one request. The session keeps the settings of the request afterwards: most requests of a
 * client have the same ones, and each `SET` is a statement of its own.
 */
export async function leasePooled(
  pool: SessionPool,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const pooled = await prepareChangeable(pool, await pool.acquire(signal), request);
  pooled.database = request.database;
  pooled.settings = request.settings;
  const finish = async (outcome: Outcome): Promise<void> => {
    pool.release(pooled, outcome === 'failed' || request.statement.kind === 'session');
  };
  return { session: pooled.session, finish };
}

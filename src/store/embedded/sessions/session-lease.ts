import type { ChdbSession } from './chdb-session.ts';
import { EngineError } from '../engine-error.ts';
import type { EngineRequest, SessionRequest } from '../engine-request.ts';
import type { NamedLease, NamedSessions } from './named-sessions.ts';
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

/** Runs a statement that answers nothing. */
export async function runSilently(session: ChdbSession, sql: string): Promise<void> {
  await session.queryAsync(sql, { format: 'Null' });
}

/** One `SET` of settings and of query parameters, and of the settings that get their default again; '' for none. */
export function setStatement(
  settings: ReadonlyMap<string, string>,
  parameters: ReadonlyMap<string, string>,
  reset: Iterable<string> = [],
): string {
  const assignments = [
    ...[...settings].map(([name, value]) => `${name}=${sqlString(value)}`),
    ...[...reset].map((name) => `${name}=DEFAULT`),
    ...[...parameters].map(([name, value]) => `param_${name}=${sqlString(value)}`),
  ];
  return assignments.length === 0 ? '' : `SET ${assignments.join(', ')}`;
}

export function useStatement(database: string): string {
  return `USE ${quoteName(database)}`;
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

/** State that a session has, or that a request needs. */
interface SessionState {
  readonly database: string | undefined;
  readonly settings: ReadonlyMap<string, string>;
}

/** Settings of a named session: its client sets them, so they are not known here. */
const NO_SETTINGS: ReadonlyMap<string, string> = new Map();

/** Sets what the request needs and the session does not have: database, settings, parameters. Returns the database. */
async function prepare(
  session: ChdbSession,
  has: SessionState,
  request: EngineRequest,
): Promise<string | undefined> {
  const database = request.database ?? has.database;
  const use = database === undefined || database === has.database ? '' : useStatement(database);
  const changed = [...request.settings].filter(([name, value]) => has.settings.get(name) !== value);
  const left = [...has.settings.keys()].filter((name) => !request.settings.has(name));
  const set = setStatement(new Map(changed), listParameters(request), left);
  const prelude = [use, set].filter((statement) => statement !== '').join('; ');
  if (prelude !== '') {
    await runSilently(session, prelude);
  }
  return database;
}

/** Prepares a session of the pool. A session whose settings cannot be changed (`readonly` locks them) is replaced by a new one. */
async function prepareChangeable(
  pool: SessionPool,
  lent: PooledSession,
  request: EngineRequest,
): Promise<PooledSession> {
  try {
    await prepare(lent.session, lent, request);
    return lent;
  } catch (error) {
    if (lent.settings.size === 0) {
      pool.release(lent, true);
      throw error;
    }
  }
  const fresh = pool.replace(lent);
  try {
    await prepare(fresh.session, fresh, request);
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
  pooled.database = request.database ?? pooled.database;
  pooled.settings = request.settings;
  const finish = async (outcome: Outcome): Promise<void> => {
    pool.release(pooled, outcome === 'failed' || request.statement.kind === 'session');
  };
  return { session: pooled.session, finish };
}

/** Reads the previous values, in the client's session, of the settings that this request sets. */
async function settingsBefore(session: ChdbSession, request: EngineRequest): Promise<Map<string, string>> {
  if (request.settings.size === 0) {
    return new Map();
  }
  const names = [...request.settings.keys()].map(sqlString).join(', ');
  const sql = `SELECT name, value FROM system.settings WHERE changed AND name IN (${names})`;
  const reply = await session.queryAsync(sql, { format: 'JSONCompactEachRow' });
  const lines = Buffer.from(reply.bytes()).toString('utf8').split('\n').filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as [string, string]));
}

/** True when a session answers normally again, without output of a failed statement. */
async function isClean(session: ChdbSession): Promise<boolean> {
  for (let attempt = 0; attempt < 3; attempt++) {
    try {
      const reply = await session.queryAsync("SELECT 'clean'", { format: 'TSV' });
      if (Buffer.from(reply.bytes()).toString('utf8') === 'clean\n') {
        return true;
      }
    } catch {
      // The error may be old output; the next attempt shows it.
    }
  }
  return false;
}

async function endNamed(
  named: NamedLease,
  request: EngineRequest,
  before: ReadonlyMap<string, string>,
  outcome: Outcome,
): Promise<void> {
  let spoilt = outcome === 'failed' && !(await isClean(named.session));
  if (request.statement.kind === 'session') {
    named.database = undefined;
  }
  try {
    if (!spoilt && request.settings.size > 0) {
      const reset = [...request.settings.keys()].filter((name) => !before.has(name));
      await runSilently(named.session, setStatement(before, new Map(), reset));
    }
  } catch {
    spoilt = true;
  }
  named.release(spoilt);
}

/**
 * Takes the session that the client named, with its state. Also takes a place in the pool, so that named sessions add no
 * statements at the same time.
 */
export async function leaseNamed(
  pool: SessionPool,
  sessions: NamedSessions,
  asked: SessionRequest,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const place = await pool.acquire(signal);
  let named: NamedLease | undefined;
  try {
    named = sessions.take(asked);
    const { session } = named;
    const before = await settingsBefore(session, request);
    named.database = await prepare(session, { database: named.database, settings: NO_SETTINGS }, request);
    const lent = named;
    const finish = async (outcome: Outcome): Promise<void> => {
      await endNamed(lent, request, before, outcome);
      pool.release(place, false);
    };
    return { session, finish };
  } catch (error) {
    if (named !== undefined) {
      await endNamed(named, request, new Map(), 'failed');
    }
    pool.release(place, false);
    throw error;
  }
}

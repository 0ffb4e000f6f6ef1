import type { ChdbSession } from './chdb-session.ts';
import { EngineError } from './engine-error.ts';
import type { EngineRequest, SessionRequest } from './engine-request.ts';
import type { NamedLease, NamedSessions } from './named-sessions.ts';
import type { PooledSession, SessionPool } from './session-pool.ts';
import { sqlString } from './sql-statement.ts';
import { quoteName } from '../quote-name.ts';

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

/** One `SET` of settings and of query parameters; '' for none. */
export function setStatement(
  settings: ReadonlyMap<string, string>,
  parameters: ReadonlyMap<string, string>,
): string {
  const assignments = [
    ...[...settings].map(([name, value]) => `${name}=${sqlString(value)}`),
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

/** Sets database, settings and parameters of the request on a session. Returns the database. */
async function prepare(
  session: ChdbSession,
  current: string | undefined,
  request: EngineRequest,
): Promise<string | undefined> {
  const wanted = request.database ?? current;
  const use = wanted === undefined || wanted === current ? '' : useStatement(wanted);
  const set = setStatement(request.settings, listParameters(request));
  const prelude = [use, set].filter((statement) => statement !== '').join('; ');
  if (prelude !== '') {
    await runSilently(session, prelude);
  }
  return wanted;
}

function resetStatement(names: Iterable<string>): string {
  return `SET ${[...names].map((name) => `${name}=DEFAULT`).join(', ')}`;
}

/** Returns a session without the settings of the request; replaces a session that cannot be reset. */
async function giveBack(
  pool: SessionPool,
  pooled: PooledSession,
  request: EngineRequest,
  outcome: Outcome,
): Promise<void> {
  let spoilt = outcome === 'failed' || request.statement.kind === 'session';
  if (!spoilt && request.settings.size > 0) {
    await runSilently(pooled.session, resetStatement(request.settings.keys())).catch(() => {
      // Some settings (readonly) lock themselves; a new session has none of them.
      spoilt = true;
    });
  }
  pool.release(pooled, spoilt);
}

/** Lends a session of the pool for one request. */
export async function leasePooled(
  pool: SessionPool,
  request: EngineRequest,
  signal: AbortSignal,
): Promise<Lease> {
  const pooled = await pool.acquire(signal);
  try {
    pooled.database = (await prepare(pooled.session, pooled.database, request)) ?? pooled.database;
  } catch (error) {
    pool.release(pooled, true);
    throw error;
  }
  return { session: pooled.session, finish: (outcome) => giveBack(pool, pooled, request, outcome) };
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
      await runSilently(named.session, resetStatement(request.settings.keys()));
      const restored = setStatement(before, new Map());
      await (restored === '' ? undefined : runSilently(named.session, restored));
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
    named.database = await prepare(session, named.database, request);
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

import type { ChdbSession } from '../sessions/chdb-session.ts';
import { EngineError, wireError } from '../engine-error.ts';
import type { EngineRequest } from '../engine-request.ts';
import { runSilently, setStatement, useStatement, type Lease } from '../sessions/session-lease.ts';
import type { SessionPool } from '../sessions/session-pool.ts';
import { sqlString } from '../sql-statement.ts';
import { runLent, type LentParts, type StatementReply, type StatementRunner } from '../statement-runner.ts';
import { nameRole, type ReaderAccount } from './reader-account.ts';
import { readFunctionCatalogue, type FunctionCatalogue } from './reader-functions.ts';
import { checkSyntaxTree, readReaderQuery, type ReaderQuery } from './reader-query.ts';
import { readerSettings } from './reader-settings.ts';
import { parseSyntaxTree } from './syntax-tree.ts';

export interface ReaderParts extends LentParts {
  /** Sessions of readers; each one serves one request and is then closed. */
  readonly sessions: SessionPool;
  readonly memoryLimitBytes: number;
}

/** A statement of a person; what is longer is no query. */
const MAX_SQL_BYTES = 256 * 1024;

/** Errors with a text from the query alone, so that it quotes no row. */
const ERRORS_WITHOUT_ROWS = new Set(
  [
    ['SYNTAX_ERROR', 'UNKNOWN_IDENTIFIER', 'UNKNOWN_FUNCTION', 'UNKNOWN_TABLE', 'UNKNOWN_FORMAT'],
    ['UNKNOWN_QUERY_PARAMETER', 'UNKNOWN_AGGREGATE_FUNCTION', 'AMBIGUOUS_IDENTIFIER', 'NOT_AN_AGGREGATE'],
    ['ILLEGAL_TYPE_OF_ARGUMENT', 'NUMBER_OF_ARGUMENTS_DOESNT_MATCH', 'NO_COMMON_TYPE', 'ILLEGAL_AGGREGATION'],
    ['ACCESS_DENIED', 'READONLY', 'NOT_IMPLEMENTED', 'BAD_ARGUMENTS', 'QUERY_IS_TOO_LARGE'],
    ['TIMEOUT_EXCEEDED', 'MEMORY_LIMIT_EXCEEDED', 'TOO_MANY_ROWS_OR_BYTES', 'TOO_MANY_SIMULTANEOUS_QUERIES'],
  ].flat(),
);

/** Removes the part of an error text that may quote rows of other tenants. */
function withoutRows(error: unknown): unknown {
  const { code, body } = wireError(error);
  const name = [...body.matchAll(/\(([A-Z][A-Z0-9_]+)\)/gu)].at(-1)?.[1] ?? 'UNKNOWN_EXCEPTION';
  return ERRORS_WITHOUT_ROWS.has(name)
    ? error
    : new Error(
        `Code: ${code}. DB::Exception: The text of this error may quote rows of other tenants and is kept back. (${name})`,
      );
}

async function* chunksWithoutRows(chunks: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw withoutRows(error);
  } finally {
    await chunks.return(undefined);
  }
}

/**
 * Returns a reply that reveals no rows of other tenants to a reader of one tenant: neither in an error nor in statistics.
 */
async function replyToReader(running: Promise<StatementReply>): Promise<StatementReply> {
  try {
    const { format, chunks } = await running;
    return { format, chunks: chunksWithoutRows(chunks), counts: { read: undefined, written: undefined } };
  } catch (error) {
    throw withoutRows(error);
  }
}

async function readText(session: ChdbSession, sql: string): Promise<string> {
  const reply = await session.queryAsync(sql, { format: 'TSVRaw' });
  return Buffer.from(reply.bytes()).toString('utf8').replace(/\n$/u, '');
}

/** Rejects an INSERT, an unknown format, a statement that is too long, and another database. */
function checkRequest({ statement, database, defaultFormat }: EngineRequest, reader: ReaderAccount): void {
  if (!/^\w+$/u.test(defaultFormat)) {
    throw new EngineError('BAD_ARGUMENTS', `'${defaultFormat}' is no format`);
  }
  if (statement.insert !== undefined) {
    throw new EngineError('ACCESS_DENIED', 'A reader may not INSERT. See docs/sql.md, "Readers"');
  }
  if (Buffer.byteLength(statement.sql) > MAX_SQL_BYTES) {
    throw new EngineError('QUERY_IS_TOO_LARGE', `A reader's statement may have ${MAX_SQL_BYTES} bytes`);
  }
  // Clients without a configured database name the one that every server has.
  if (database !== undefined && database !== 'default' && database !== reader.database) {
    throw new EngineError(
      'ACCESS_DENIED',
      `A reader of ${reader.database} may not be in the database ${database}`,
    );
  }
}

/** Runs statements of readers, each in its own session with the grants of the reader only. */
export class ReaderStatements {
  private readonly parts: ReaderParts;
  private functions: Promise<FunctionCatalogue> | undefined;

  constructor(parts: ReaderParts) {
    this.parts = parts;
  }

  /** Runs the statements of one reader; `index` is the one of its role. */
  runner(reader: ReaderAccount, index: number): StatementRunner {
    return (request, signal) => {
      const running = this.run(reader, nameRole(index), request, signal);
      return reader.tenant === undefined ? running : replyToReader(running);
    };
  }

  private async run(
    reader: ReaderAccount,
    role: string,
    request: EngineRequest,
    signal: AbortSignal,
  ): Promise<StatementReply> {
    checkRequest(request, reader);
    const { sessions, memoryLimitBytes } = this.parts;
    const settings = readerSettings(reader, request.settings, memoryLimitBytes);
    const pooled = await sessions.acquire(signal);
    const lent: Lease = {
      session: pooled.session,
      // The next reader gets a new session, so nothing of this one remains.
      finish: () => Promise.resolve(sessions.release(pooled, true)),
    };
    let query: ReaderQuery;
    try {
      this.functions ??= readFunctionCatalogue(pooled.session);
      const functions = await this.functions;
      await runSilently(pooled.session, `SET ROLE ${role}`);
      await runSilently(pooled.session, useStatement(reader.database));
      await runSilently(pooled.session, setStatement(settings, request.parameters));
      query = await this.check(pooled.session, request.statement.sql, { reader, functions });
    } catch (error) {
      await lent.finish('failed');
      throw error;
    }
    const runnable = {
      sql: query.sql,
      format: query.format ?? request.defaultFormat,
      isRead: true,
      outfileAt: query.select === query.sql ? query.sql.length : undefined,
      nativeRevision: request.nativeRevision,
      limitS: Number(settings.get('max_execution_time')),
    };
    return runLent(lent, runnable, this.parts, signal);
  }

  /** The statement as the engine spells it, once its syntax tree holds nothing that is refused. */
  private async check(
    session: ChdbSession,
    sql: string,
    rules: Parameters<typeof checkSyntaxTree>[1],
  ): Promise<ReaderQuery> {
    // The engine reads the statement from a text, so that its comments and brackets cannot change the statement run here.
    const canonical = await readText(session, `SELECT formatQuerySingleLine(${sqlString(sql)})`);
    const query = readReaderQuery(canonical, rules.reader);
    if (query.select !== undefined) {
      // A subquery has no FORMAT, no INTO OUTFILE and no second statement.
      const printed = await readText(session, `EXPLAIN AST SELECT * FROM (${query.select})`);
      checkSyntaxTree(parseSyntaxTree(printed), rules);
    }
    return query;
  }
}

import { describe, expect, it } from 'vitest';
import {
  type ChdbResult,
  type ChdbSession,
  SessionPool,
} from '../../../../src/store/embedded/session-pool.ts';
import type { EngineRequest } from '../../../../src/store/embedded/engine-request.ts';
import { leasePooled } from '../../../../src/store/embedded/statement-runner.ts';
import { parseStatement } from '../../../../src/store/embedded/sql-statement.ts';

const never = new AbortController().signal;
const NOTHING: ChdbResult = { elapsed: 0, rowsRead: 0, bytesRead: 0, bytes: () => new Uint8Array() };

/** A pool of one session, and the statements that reach it, after the number of the session. */
function buildPool(refuse: (sql: string, session: number) => boolean = () => false) {
  const statements: string[] = [];
  let sessions = 0;
  const open = (): ChdbSession => {
    sessions += 1;
    const number = sessions;
    return {
      queryAsync: async (sql) => {
        statements.push(`${number}: ${sql}`);
        if (refuse(sql, number)) {
          throw new Error('refused');
        }
        return NOTHING;
      },
      close: () => undefined,
    };
  };
  return { pool: new SessionPool(open, { size: 1, maxWaiting: 0 }), statements };
}

function aRequest(
  sql: string,
  {
    settings = {},
    parameters = {},
  }: { settings?: Record<string, string>; parameters?: Record<string, string> } = {},
): EngineRequest {
  return {
    statement: parseStatement(sql),
    database: 'default',
    defaultFormat: 'TSV',
    settings: new Map(Object.entries(settings)),
    parameters: new Map(Object.entries(parameters)),
    isOwn: true,
    isLargeReply: false,
    compressReply: false,
    nativeRevision: 0,
    data: undefined,
    dataCompression: undefined,
  };
}

async function run(pool: SessionPool, request: EngineRequest, outcome: 'done' | 'failed' = 'done') {
  const { finish } = await leasePooled(pool, request, never);
  await finish(outcome);
}

describe('a session of the pool', () => {
  it('sets nothing again that it has', async () => {
    const { pool, statements } = buildPool();
    const request = aRequest('SELECT 1', { settings: { max_threads: '1', max_block_size: '5' } });

    await run(pool, request);
    await run(pool, request);

    expect(statements).toEqual(["1: SET max_threads='1', max_block_size='5'"]);
  });

  it('sets what changed, resets what the request does not name, and sets every parameter', async () => {
    const { pool, statements } = buildPool();
    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1', max_block_size: '5' } }));

    const settings = { max_block_size: '6' };
    await run(pool, aRequest('SELECT {a:UInt8}', { settings, parameters: { a: '7' } }));
    await run(pool, aRequest('SELECT {a:UInt8}', { settings, parameters: { a: '7' } }));
    await run(pool, aRequest('SELECT 1'));

    expect(statements.slice(1)).toEqual([
      "1: SET max_block_size='6', max_threads=DEFAULT, param_a='7'",
      "1: SET param_a='7'",
      '1: SET max_block_size=DEFAULT',
    ]);
  });

  it('is replaced after a statement that failed or changed it: the new one has no settings', async () => {
    const { pool, statements } = buildPool();
    const request = aRequest('SELECT 1', { settings: { max_threads: '1' } });

    await run(pool, request, 'failed');
    await run(pool, aRequest('SET max_threads = 2'));
    await run(pool, request);

    expect(statements).toEqual(["1: SET max_threads='1'", "3: SET max_threads='1'"]);
  });

  it('is replaced when its settings cannot be changed any more', async () => {
    const { pool, statements } = buildPool(
      (sql, session) => session === 1 && sql.includes('readonly=DEFAULT'),
    );
    await run(pool, aRequest('SELECT 1', { settings: { readonly: '1' } }));

    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1' } }));

    expect(statements.slice(1)).toEqual([
      "1: SET max_threads='1', readonly=DEFAULT",
      "2: SET max_threads='1'",
    ]);
  });

  it('goes back to the pool when the request is refused', async () => {
    const { pool } = buildPool((sql) => sql.includes('unknown'));
    const refused = aRequest('SELECT 1', { settings: { unknown: '1' } });

    await run(pool, aRequest('SELECT 1', { settings: { max_threads: '1' } }));
    await expect(run(pool, refused)).rejects.toThrow('refused');
    await expect(run(pool, refused)).rejects.toThrow('refused');

    await expect(run(pool, aRequest('SELECT 1'))).resolves.toBeUndefined();
  });
});

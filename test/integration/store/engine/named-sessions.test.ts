import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startEmbeddedEngine, type EmbeddedEngine } from '../../../../src/store/embedded/engine.ts';
import { until } from '../../../support/until.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'spanscore-sessions-'));
let engine: EmbeddedEngine;

beforeAll(async () => {
  engine = await startEmbeddedEngine({ dataDir });
});

afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true });
});

/** A client that names its session, as clickhouse-connect does: what it is answered. */
function session(options: Record<string, string> = {}) {
  const session_id = randomUUID();
  return async (sql: string, parameters: Record<string, string> = {}): Promise<string> => {
    const search = new URLSearchParams({ session_id, ...options, ...parameters });
    const basic = Buffer.from(`${engine.username}:${engine.password}`).toString('base64');
    const reply = await fetch(`${engine.url}/?${search.toString()}`, {
      method: 'POST',
      headers: { authorization: `Basic ${basic}` },
      body: sql,
    });
    return (await reply.text()).trim();
  };
}

describe('a session that the client names', () => {
  it('has settings, a database and temporary tables that hold for the requests behind them', async () => {
    const ask = session();
    await ask('SET max_block_size = 77');
    await ask('CREATE TEMPORARY TABLE kept (a UInt8)');
    await ask('INSERT INTO kept VALUES (1), (2)');
    await ask('USE system');

    expect(await ask("SELECT getSetting('max_block_size'), currentDatabase()")).toBe('77\tsystem');
    expect(await ask('SELECT sum(a) FROM kept')).toBe('3');
    expect(await ask('SELECT currentDatabase()', { database: 'default' })).toBe('default');
  });

  it('belongs to one user only', async () => {
    await session()('SET max_block_size = 77');

    expect(await session()("SELECT getSetting('max_block_size') = 77")).toBe('0');
  });

  it('keeps its own settings when a request has others for itself', async () => {
    const ask = session();
    await ask('SET max_block_size = 77');

    expect(await ask("SELECT getSetting('max_block_size')", { max_block_size: '5' })).toBe('5');
    expect(await ask("SELECT getSetting('max_block_size')")).toBe('77');
  });

  it('outlives a statement that fails, with nothing of it in the next reply', async () => {
    const ask = session();
    await ask('CREATE TEMPORARY TABLE kept (a UInt8)');

    expect(await ask('SELECT number, throwIf(number = 199999) FROM numbers(200000)')).toMatch(/^Code: 395/);
    expect(await ask('SELECT count() FROM kept')).toBe('0');
  });

  it('is used by one request at a time, as on a server', async () => {
    const ask = session();
    await ask('SET max_block_size = 77');
    const slow = ask('SELECT sleep(2)');

    await until(async () => (await ask('SELECT 1')).startsWith('Code: 373'));
    expect(await slow).toBe('0');
  });

  it('ends when its time is over, or when the client says so', async () => {
    const short = session({ session_timeout: '1' });
    await short('CREATE TEMPORARY TABLE kept (a UInt8)');
    const closed = session();
    await closed('CREATE TEMPORARY TABLE kept (a UInt8)');
    await closed('SELECT 1', { close_session: '1' });

    // Asking would keep it.
    await sleep(2_500);
    expect(await short('SELECT * FROM kept')).toMatch(/UNKNOWN_TABLE/);
    expect(await closed('SELECT * FROM kept')).toMatch(/UNKNOWN_TABLE/);
  });

  it('has to be there when the client asks for that', async () => {
    const ask = session();

    expect(await ask('SELECT 1', { session_check: '1' })).toMatch(/SESSION_NOT_FOUND/);
    await ask('SELECT 1');
    expect(await ask('SELECT 1', { session_check: '1' })).toBe('1');
    expect(await ask('SELECT 1', { session_timeout: '7200' })).toMatch(/from 1 to 3600 seconds/);
  });

  it('is bounded in number, and reads need none', async () => {
    const holders = Array.from({ length: 40 }, () => session());
    const replies = await Promise.all(holders.map((ask) => ask('SET max_block_size = 77')));

    expect(replies.filter((reply) => reply.includes('named sessions hold settings'))).not.toHaveLength(0);
    expect(await session()('SELECT 1')).toBe('1');
    await Promise.all(holders.map((ask) => ask('SELECT 1', { close_session: '1' })));
    expect(await session()('SET max_block_size = 77')).toBe('');
  });
});

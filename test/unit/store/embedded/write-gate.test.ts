import { describe, expect, it } from 'vitest';
import type { EngineRequest } from '../../../../src/store/embedded/engine-request.ts';
import { parseStatement } from '../../../../src/store/embedded/sql-statement.ts';
import type { StatementReply } from '../../../../src/store/embedded/statement-runner.ts';
import { WriteGate } from '../../../../src/store/embedded/write-gate.ts';

const REPLY: StatementReply = {
  format: 'Null',
  chunks: (async function* () {})(),
  counts: { read: undefined, written: undefined },
};
const signal = new AbortController().signal;
const request = (sql: string) => ({ statement: parseStatement(sql) }) as EngineRequest;

const SPANS = 'INSERT INTO otel_traces (`TraceId`) FORMAT RowBinary';
const BEAT = 'INSERT INTO scorer_members (Member, Leaving) SELECT Member, 1 FROM scorer_members';
const DELIVERY = 'INSERT INTO `spanscore`.exports FORMAT JSONEachRow';
const READ = 'SELECT 1';
const MINUTE_MS = 60_000;

describe('a gate before writes', () => {
  const run = async (gate: WriteGate, sql: string) =>
    gate
      .guard(async () => REPLY)(request(sql), signal)
      .then(
        () => 'accepted',
        (error: Error) => error.message,
      );

  it('refuses new work first, and results of begun work only at the end', async () => {
    const gate = new WriteGate();
    expect(await gate.hold('no-new-work', 'wait', MINUTE_MS)).toBe('all');

    expect(await run(gate, SPANS)).toContain('(READONLY)');
    expect(await run(gate, BEAT)).toContain('wait');
    expect(await run(gate, DELIVERY)).toBe('accepted');

    expect(await gate.hold('none', 'wait', MINUTE_MS)).toBe('no-new-work');
    expect(await run(gate, DELIVERY)).toContain('(READONLY)');
    expect(await run(gate, 'ALTER TABLE runs DELETE WHERE 1')).toContain('(READONLY)');
    expect(await run(gate, READ)).toBe('accepted');
  });

  it('waits for the writes that it would refuse, and for no others', async () => {
    const gate = new WriteGate();
    const { promise, resolve } = Promise.withResolvers<StatementReply>();
    const writing = gate.guard(() => promise)(request(DELIVERY), signal);
    await gate.hold('no-new-work', 'wait', MINUTE_MS);
    let isHeld = false;
    const holding = gate.hold('none', 'wait', MINUTE_MS).then(() => (isHeld = true));
    await Promise.resolve();
    expect(isHeld).toBe(false);

    resolve(REPLY);
    await holding;

    expect(await writing).toBe(REPLY);
  });

  it('opens by itself when nobody renews the hold', async () => {
    const gate = new WriteGate();
    await gate.hold('none', 'wait', 0);

    expect(await run(gate, SPANS)).toBe('accepted');
    expect(await gate.hold('none', 'wait', MINUTE_MS)).toBe('all');
  });

  it('stays closed for good once the store has ended, also after a hold that nobody renews or opens', async () => {
    let end: string | undefined;
    const gate = new WriteGate(() => end);
    await gate.hold('none', 'wait', 0);
    end = 'moved away';

    expect(await run(gate, SPANS)).toContain('moved away');
    await gate.hold('all', 'wait', 0);
    expect(await run(gate, DELIVERY)).toContain('moved away');
    expect(await run(new WriteGate(() => end), SPANS)).toContain('moved away');
  });
});

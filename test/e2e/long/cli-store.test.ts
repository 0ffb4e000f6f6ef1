import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { emptyFolder, jsonLines, startCli } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { fillStore } from '../../support/store/fill-store.ts';

const RECORDED = new URL('../../fixtures/spans/ai-sdk-v7-new.traces.jsonl', import.meta.url);
const TRACE = '11f9d845dab14324be6966ea320d72ad';
const UNKNOWN = 'f'.repeat(32);
const CONFIG = `
readiness: { decisionWait: 1s, maxWait: 1s }
rules: [{ name: everything, scorers: [keyword-coverage, no-tool-errors] }]
receivers: { otlp: { http: { endpoint: "127.0.0.1:0" }, grpc: { endpoint: "127.0.0.1:0" } } }
api: { endpoint: "127.0.0.1:0" }
`;

type Row = Record<string, unknown>;

const folder = emptyFolder();

async function cli(...args: string[]) {
  const result = await runCommand([...args, '--json'], { cwd: folder });
  return { ...result, rows: jsonLines(result.stdout) as Row[] };
}

/** Puts the recorded trace into the store of the folder as a sender would. */
beforeAll(async () => {
  writeFileSync(join(folder, 'spanscore.config.yaml'), CONFIG);
  const connection = await fillStore(folder, { traces: readFileSync(RECORDED, 'utf8') });
  await connection.release();
});

describe('commands on a stored trace', () => {
  it('traces lists it as waiting until it is decided', async () => {
    const { code, rows } = await cli('traces');

    expect(code).toBe(0);
    expect(rows).toEqual([
      expect.objectContaining({
        traceId: TRACE,
        services: ['fixture-ai-sdk-v7-new'],
        spanCount: 6,
        state: 'waiting',
        decisions: {},
        lastArrival: expect.stringMatching(/^\d{4}-.*Z$/),
      }),
    ]);
  });

  it('inspect reads it as from its file', async () => {
    const stored = await cli('inspect', TRACE);
    const recorded = await cli('inspect', RECORDED.pathname);

    expect(stored.code).toBe(0);
    expect(stored.rows).toEqual(recorded.rows);
  });

  it('explain answers for a rule that never covered it', async () => {
    const { code, rows } = await cli('explain', TRACE);

    expect(code).toBe(0);
    expect(rows).toEqual([
      expect.objectContaining({ traceId: TRACE, rule: 'everything', computed: true, status: 'not_covered' }),
    ]);
  });

  it('score runs scorers and stores nothing', async () => {
    const { code, rows } = await cli('score', TRACE);
    const kept = await cli('scores');

    expect(code).toBe(0);
    expect(rows.map((row) => [row['scorer'], row['status'], row['source']].join(' ')).toSorted()).toEqual([
      'keyword-coverage scored api',
      'no-tool-errors scored api',
    ]);
    expect(kept.rows).toEqual([]);
    expect(kept.code).toBe(0);
  });

  it('backfill counts on a dry run, scores, and finds nothing to do the second time', async () => {
    const range = ['--from', '2026-11-21T00:00:00Z', '--to', '2026-11-22T00:00:00Z'];

    const dry = await cli('backfill', ...range, '--dry-run');
    const first = await cli('backfill', ...range);
    const second = await cli('backfill', ...range);

    expect(dry.rows).toMatchObject([{ dryRun: true, matched: 1, remaining: 2, skipped: {} }]);
    expect(first.code).toBe(0);
    expect(first.rows.at(-1)).toMatchObject({ matched: 1, scored: 2, skipped: {}, failed: {} });
    expect(second.rows.at(-1)).toMatchObject({ matched: 1, scored: 0, skipped: { already_scored: 2 } });
    expect(second.stderr).toContain('the only trace was scored already: nothing was left to score');
  });

  it('scores lists what the backfill kept, filtered as asked', async () => {
    const all = await cli('scores', '--trace', TRACE);
    const low = await cli('scores', '--max', '0.9');
    const other = await cli('scores', '--service', 'another');

    expect(all.rows.map((row) => String(row['scorer'])).toSorted()).toEqual([
      'keyword-coverage',
      'no-tool-errors',
    ]);
    expect(all.rows[0]).toMatchObject({
      traceId: TRACE,
      source: 'backfill',
      serviceName: 'fixture-ai-sdk-v7-new',
      scoredAt: expect.stringMatching(/Z$/),
      version: expect.stringMatching(/^\d+$/),
    });
    expect(low.rows.map((row) => row['scorer'])).toEqual(['keyword-coverage']);
    expect(other.rows).toEqual([]);
  });

  it('explain prints every decision on a line of its own', async () => {
    const { rows } = await cli('explain', TRACE);
    const decided = rows.filter((row) => row['computed'] !== true);

    expect(decided.map((row) => [row['scorer'], row['status']].join(' ')).toSorted()).toEqual([
      'keyword-coverage scored',
      'no-tool-errors scored',
    ]);
    expect(decided[0]).toMatchObject({
      rule: expect.stringMatching(/^backfill:/),
      revision: 1,
      scores: [{ scorer: decided[0]?.['scorer'], score: expect.any(Number), reason: expect.any(String) }],
    });
  });

  it('scores --follow prints stored scores and ends with 130 at Ctrl-C', async () => {
    const running = startCli(['scores', '--follow', '--since', '1h', '--json'], { cwd: folder });
    await expect.poll(() => running.output.stdout.split('\n').length, { timeout: 90_000 }).toBe(3);
    running.child.kill('SIGINT');
    const { code, stdout } = await running.ended;

    expect(code).toBe(130);
    expect(jsonLines(stdout)).toHaveLength(2);
  });

  it.each([[['inspect', UNKNOWN]], [['score', UNKNOWN]], [['explain', UNKNOWN]]])(
    '%j ends with 4: not found',
    async (args) => {
      expect((await cli(...args)).code).toBe(4);
    },
  );

  it('score ends with 3 when a judge cannot be asked and the code scorers could', async () => {
    const { code, rows } = await cli(
      'score',
      TRACE,
      '--scorer',
      'hallucination,keyword-coverage',
      '--set',
      'judges.default=openai/x',
    );

    expect(code).toBe(3);
    expect(rows.map((row) => [row['scorer'], row['status']].join(' ')).toSorted()).toEqual([
      'hallucination deferred',
      'keyword-coverage scored',
    ]);
  });

  it.each([
    [['score', TRACE, '--scorer', 'halucination']],
    [['backfill', '--from', '7d', '--scorer', 'halucination']],
    [['scores', '--scorer', 'halucination']],
  ])('%j is wrong usage: there is no such scorer', async (args) => {
    const { code, stderr } = await cli(...args);

    expect(code).toBe(2);
    expect(stderr).toContain('there is no scorer halucination; did you mean hallucination?');
  });
});

describe('upkeep', () => {
  it('migrate prints the schema, and has nothing left to do', async () => {
    const status = await cli('migrate', '--status');
    const again = await cli('migrate');

    expect(status.rows).toEqual([
      expect.objectContaining({ database: 'spanscore', state: 'current', missing: 0 }),
    ]);
    expect(status.rows[0]?.['schema']).toBe(status.rows[0]?.['known']);
    expect(again.rows).toEqual([expect.objectContaining({ created: 0 })]);
  });

  it('doctor finds everything in order', async () => {
    const { code, rows } = await cli('doctor');
    const checks = rows[0]?.['checks'] as { check: string; status: string }[];

    expect(code).toBe(0);
    expect(checks.map((check) => check.check)).toEqual(
      expect.arrayContaining(['node', 'configuration', 'engine', 'store', 'clock', 'judge', 'loops']),
    );
    expect(checks.filter((check) => check.status !== 'ok')).toEqual([]);
  });

  it('doctor ends with 69 when the store cannot be reached', async () => {
    const { code, rows } = await cli('doctor', '--store-url', 'http://127.0.0.1:9');

    expect(code).toBe(69);
    expect(rows[0]?.['checks']).toContainEqual(
      expect.objectContaining({
        check: 'store',
        status: 'failed',
        fix: expect.stringContaining('store.url'),
      }),
    );
  });
});

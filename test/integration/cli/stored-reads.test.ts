import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { aLetter } from '../../support/builders/a-letter.ts';
import { emptyFolder, jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import {
  buildDecision,
  buildScore,
  newTraceId,
  storeFlags,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';
import { agentRunSpans, store as ingest } from '../../support/store/stored-agent.ts';

const ids = Array.from({ length: 21 }, newTraceId);
const folder = emptyFolder();
let its: TestStore;

beforeAll(async () => {
  its = await testStore();
  const rules = [
    { name: 'live', scorers: ['keyword-coverage'] },
    { name: 'chats', target: 'session', scorers: ['tone'] },
  ];
  writeFileSync(
    join(folder, 'spanscore.config.json'),
    JSON.stringify({ readiness: { decisionWait: '1ms', maxWait: '1m' }, rules }),
  );
  await Promise.all(ids.map((traceId) => ingest(its.store, agentRunSpans(traceId))));
});
afterAll(() => its.stop());

async function command(...args: readonly string[]) {
  const result = await runCommand([...args, ...storeFlags(its.options)], { cwd: folder });
  return { ...result, rows: () => jsonLines(result.stdout) as Record<string, unknown>[] };
}

describe('a backfill of traces that came a moment ago', () => {
  const backfill = (...more: string[]) => command('backfill', '--from', '1h', '--json', ...more);

  it('scores the traces that its dry run counts, and the second time reports that all were scored already', async () => {
    const dry = await backfill('--scorer', 'tone', '--dry-run');
    expect(dry.rows()).toMatchObject([{ dryRun: true, traces: 21, left_to_live: 0 }]);
    const real = await backfill('--scorer', 'tone');
    expect(real.rows()).toMatchObject([{ traces: 21, left_to_live: 0, decisions: { scored: 21 } }]);
    expect(real.code).toBe(0);
    const again = await backfill('--scorer', 'tone');
    expect(again.rows()).toMatchObject([{ traces: 21, scored: 0, already: { scored: 21 } }]);
    expect(again.stderr).toContain('all 21 traces were scored already: nothing was left to score\n');
  });

  it('leaves traces without a decision of a rule to live scoring, in both the same', async () => {
    await its.store.ruleVersions.record({
      rule: 'live',
      version: 'first',
      activeFromMs: Date.now() - 3_600_000,
      probability: 1,
      definition: { scorers: ['keyword-coverage'] },
    });
    for (const more of [['--dry-run'], []]) {
      const { rows } = await backfill(...more);
      expect(rows()).toMatchObject([{ traces: 0, left_to_live: 21, leftBecause: { arriving: 0, owed: 21 } }]);
    }
  });
});

it('explain prints scores with their reasons', async () => {
  const { stdout } = await command('explain', ids[0] ?? '');
  expect(stdout).toMatch(/backfill:\w+ \/ tone {2}scored\n {4}tone \d/);
});

it('explain prints why a session is not scored, and then its decisions and scores', async () => {
  const explain = () => command('explain', '--session', 'sess-1', '--json');
  const line = { traceId: '', targetId: 'sess-1', rule: 'chats' };
  expect((await explain()).rows()).toMatchObject([{ ...line, status: 'not_covered', computed: true }]);
  const version = { version: 'first', activeFromMs: Date.now() - 3_600_000, probability: 1, definition: {} };
  await its.store.ruleVersions.record({ rule: 'chats', ...version });
  const [waiting] = (await explain()).rows();
  expect(waiting).toMatchObject({ ...line, status: 'waiting', reason: 'further turns may still come' });
  expect(Date.parse(String(waiting?.['nextAttemptAt']))).toBeGreaterThan(Date.now());

  const target = { traceId: '', target: 'session', targetId: 'sess-1', scorer: 'tone' } as const;
  const score = buildScore({ ...target, tenant: '', spanId: '', sessionId: 'sess-1', score: 0.25 });
  await its.store.scores.write([score]);
  const { fingerprint } = score;
  await its.store.decisions.write([
    buildDecision({
      ...target,
      tenant: '',
      rule: 'chats',
      status: 'scored',
      fingerprint,
      evidenceUntil: Date.now(),
    }),
  ]);
  expect((await explain()).rows()).toMatchObject([{ ...line, status: 'scored', scores: [{ score: 0.25 }] }]);
  const { stdout } = await command('scores', '--session', 'sess-1', '--scorer', 'tone', '--max', '0.25');
  expect(stdout).toMatch(/session sess-1 {2}tone 0\.25/);
  expect((await command('explain', '--session', 'nobody')).code).toBe(4);
  expect((await command('explain')).code).toBe(2);
});

it('scores accepts names in the store and in the configuration, and refuses any other name', async () => {
  expect((await command('scores', '--scorer', 'tone', '--json')).rows()).toHaveLength(22);
  expect((await command('scores', '--scorer', 'grounding')).code).toBe(0);
  const { code, stderr } = await command('scores', '--scorer', 'tonne');
  expect(code).toBe(2);
  expect(stderr).toContain('there is no scorer tonne; did you mean tone?');
});

it('dlq list prints the number of further dead letters', async () => {
  await its.store.deadLetters.write([aLetter(), aLetter(), aLetter()]);
  const { stdout, stderr } = await command('dlq', 'list', '--limit', '1', '--json');
  expect(jsonLines(stdout)).toHaveLength(1);
  expect(stderr).toContain('2 more are set aside, older than these: --limit 3 prints all\n');
});

import { readFileSync } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { buildRunRecord } from '../../support/store/run-rows.ts';
import {
  buildScore,
  newTraceId,
  storeFlags,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

const [REPORTED] = JSON.parse(
  readFileSync(new URL('../../fixtures/reports/22-csv-cells/scores.json', import.meta.url), 'utf8'),
) as [{ traceId: string; scorer: string; score: number; source: 'human'; label: string; reason: string }];

/** Texts that a spreadsheet computes. */
const COMPUTED = [
  '=1+1',
  '+1',
  '-1',
  '@a',
  '＝1',
  '＋1',
  '－1',
  '＠a',
  '\ta',
  '\ra',
  '\na',
  ' =1',
  '\u00a0=1',
  '\u200b@a',
  ' \r\n+1',
  "'=1",
  "'' -1",
  '\ufeff=1',
  '\u2028=1',
  '\u000b=1',
  '=a "b",\nc',
];
const PLAIN = ["it's", "'a", 'a=1', '1-1', ' a', '', '価値', '[-1]', '{"a":-1}', '(-1)', '\\=1', '"=1'];

let base: TestStore;
let cwd: string;

beforeAll(async () => {
  base = await testStore();
  cwd = emptyFolder();
  const rows = [...COMPUTED, ...PLAIN].map((reason) =>
    buildScore({ source: 'human', scoredBy: 'ann', scorer: 'cells', score: -1, reason }),
  );
  const ofRun = { traceId: newTraceId(), target: 'trace', tenant: '=acme', scorer: 'of-run' } as const;
  await base.store.scores.write([
    ...rows,
    buildScore({ ...REPORTED, target: 'trace', targetId: REPORTED.traceId }),
    buildScore({ ...ofRun, targetId: ofRun.traceId, agent: '=agent' }),
  ]);
  await base.store.runs.write([
    buildRunRecord({ ...ofRun, targetId: ofRun.traceId, errorType: '=error', totalTokens: 7 }),
  ]);
});
afterAll(() => base.stop());

/** Runs an export, and returns its rows. */
async function readRows(...argv: string[]): Promise<Record<string, string>[]> {
  const { code, stdout } = await runCommand([...argv, ...storeFlags(base.options)], { cwd });
  expect(code).toBe(0);
  return parse(stdout, { columns: true });
}

const SCORES = ['export', '--since', '1970-01-01T00:00:00Z', '--format', 'csv', '--scorer'];
const LABELS = ['labels', 'export', '--scorer'];

describe.each([
  ['export', SCORES, 'Reason', 'Score'],
  ['labels export', LABELS, 'note', 'score'],
])('the CSV of %s', (_, argv, text, number) => {
  it('has a sign in front of each text that a spreadsheet would compute, and of nothing else', async () => {
    const rows = await readRows(...argv, 'cells');
    expect(rows.map((row) => row[text] ?? '').toSorted()).toEqual(
      [...COMPUTED.map((cell) => `'${cell}`), ...PLAIN].toSorted(),
    );
    expect(new Set(rows.map((row) => row[number]))).toEqual(new Set(['-1']));
  });

  it('has the texts as they are with --raw', async () => {
    const rows = await readRows(...argv, 'cells', '--raw');
    expect(rows.map((row) => row[text] ?? '').toSorted()).toEqual([...COMPUTED, ...PLAIN].toSorted());
  });

  it('has the reported reason and label as texts', async () => {
    const [row] = await readRows(...argv, REPORTED.scorer);
    expect(Object.values(row ?? {})).toEqual(expect.arrayContaining(["'=1+1", "'@bad", '-1']));
  });
});

it('the CSV of export protects the texts of the run, which it finds by the stored tenant', async () => {
  expect(await readRows(...SCORES, 'of-run')).toMatchObject([
    { Tenant: "'=acme", Agent: "'=agent", RunErrorType: "'=error", RunTotalTokens: '7' },
  ]);
});

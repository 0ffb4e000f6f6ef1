import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { queryRows } from '../../support/store/clickhouse-query.ts';
import { emptyFolder, jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import {
  buildScore,
  newTraceId,
  storeFlags,
  testStore,
  type TestStore,
} from '../../support/store/store-rows.ts';

let base: TestStore;
let cwd: string;

beforeAll(async () => {
  base = await testStore();
  cwd = emptyFolder();
});
afterAll(() => base.stop());

const run = (...argv: string[]) => runCommand([...argv, ...storeFlags(base.options)], { cwd });

/** Writes a file of labels: one line for each label. */
function write(name: string, labels: readonly object[]): string {
  writeFileSync(join(cwd, name), labels.map((label) => JSON.stringify(label)).join('\n'));
  return name;
}

/** Stores scores of a version, and returns the ids of their traces. */
async function storeScores(scorer: string, scores: readonly number[], fingerprint = 'f1'): Promise<string[]> {
  const rows = scores.map((score) => buildScore({ scorer, score, fingerprint, judgeModel: 'judge-1' }));
  await base.store.scores.write(rows);
  return rows.map(({ traceId }) => traceId);
}

describe('labels import', () => {
  it('stores the good lines, names each bad one, and ends with 3', async () => {
    const [traceId, other] = [newTraceId(), newTraceId()];
    const scorer = 'imported';
    const file = write('mixed.ndjson', [
      { traceId, scorer, score: 1, reviewer: 'ann', note: 'good' },
      { traceId: 'abc', scorer, score: 1, reviewer: 'ann' },
      { traceId: other, scorer, score: 0 },
      { traceId: other, scorer, passes: true, reviewer: 'bob' },
    ]);
    const { code, stdout, stderr } = await run('labels', 'import', file, '--json');
    expect(code).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ stored: 1, refused: [{ line: 2 }, { line: 3 }, { line: 4 }] });
    expect(stderr).toMatch(/mixed\.ndjson:2: .*32 hex digits/u);
    expect(stderr).toMatch(/mixed\.ndjson:3: reviewer: is required; name one with --reviewer/u);
    expect(stderr).toMatch(/mixed\.ndjson:4: passes: .*send score instead/u);
    const { items } = await base.store.lists.scores({ scorer: [scorer] }, { limit: 10 });
    expect(items).toMatchObject([{ traceId, score: 1, reason: 'good', source: 'human', scoredBy: 'ann' }]);
  });

  it('leaves an audit row for each tenant, before the labels, with hashes in place of ids', async () => {
    const [first, second] = [newTraceId(), newTraceId()];
    const of = { scorer: 'audited', score: 1, reviewer: 'ann' };
    const file = write('audited.ndjson', [
      { ...of, traceId: first, tenant: 'a' },
      { ...of, traceId: second, tenant: 'b' },
      { ...of, sessionId: 'chat-7', tenant: 'b' },
    ]);
    expect(await run('labels', 'import', file)).toMatchObject({ code: 0 });
    const rows = await queryRows<{ Tenant: string; Token: string; Subjects: string[] }>(
      base.options,
      `SELECT Tenant, Token, Subjects FROM audit
       WHERE Action = 'label.import' AND Tenant != '' ORDER BY Tenant`,
    );
    expect(rows).toMatchObject([
      {
        Tenant: 'a',
        Token: 'spanscore labels import',
        Subjects: [expect.stringMatching(/^trace:[0-9a-f]{32,}/u)],
      },
      {
        Tenant: 'b',
        Subjects: [expect.stringMatching(/^trace:/u), expect.stringMatching(/^session:/u)],
      },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(new RegExp(`${first}|${second}|chat-7`, 'u'));
  });

  it('ends with 4 for a file that is not there', async () => {
    expect(await run('labels', 'import', 'none.csv')).toMatchObject({ code: 4, stdout: '' });
  });
});

it('labels export prints what labels import reads, and the second import changes nothing', async () => {
  const [one = '', two = ''] = await storeScores('moved', [0.9, 0.1]);
  const file = write('first.ndjson', [
    { traceId: one, scorer: 'moved', passes: true, note: '=1, "quoted"\nsecond line' },
    { traceId: two, scorer: 'moved', score: 0.25, label: 'bad', reviewer: 'bob' },
  ]);
  expect(await run('labels', 'import', file, '--reviewer', 'ann')).toMatchObject({ code: 0 });
  const exported = await run('labels', 'export', '--scorer', 'moved', '--out', 'out.csv');
  expect(exported).toMatchObject({ code: 0, stdout: '' });
  expect(exported.stderr).toContain('2 labels exported');
  const text = readFileSync(join(cwd, 'out.csv'), 'utf8');
  expect(text).toContain(`"'=1, ""quoted""`);
  expect(await run('labels', 'import', 'out.csv')).toMatchObject({ code: 0, stdout: '2 labels stored\n' });
  const { stdout } = await run('labels', 'export', '--scorer', 'moved', '--json');
  const lines = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { traceId: string });
  expect(lines).toHaveLength(2);
  expect(lines).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ traceId: one, score: 1, reviewer: 'ann', note: '=1, "quoted"\nsecond line' }),
      expect.objectContaining({ traceId: two, score: 0.25, reviewer: 'bob', label: 'bad' }),
    ]),
  );
});

it.each([
  ['csv', []],
  ['csv', ['--json']],
  ['ndjson', []],
  ['ndjson', ['--json']],
  ['JSONL', []],
])('labels export writes a file that labels import reads by its name: .%s with %j', async (ending, more) => {
  const scorer = `named-${ending}-${more.length}`.toLowerCase();
  const [traceId] = await storeScores(scorer, [0.9]);
  const label = { traceId, scorer, score: 1, reviewer: 'ann' };
  expect(await run('labels', 'import', write('named.ndjson', [label]))).toMatchObject({ code: 0 });
  const out = `${scorer}.${ending}`;

  const { code, stdout } = await run('labels', 'export', '--scorer', scorer, '--out', out, ...more);

  expect(code).toBe(0);
  const format = ending === 'csv' ? 'csv' : 'ndjson';
  expect(jsonLines(stdout)).toEqual(more.map(() => ({ file: join(cwd, out), format, labels: 1 })));
  expect(readFileSync(join(cwd, out), 'utf8')).toMatch(format === 'csv' ? /^tenant,/u : /^\{/u);
  expect(await run('labels', 'import', out)).toMatchObject({ code: 0, stdout: '1 label stored\n' });
});

it('labels export writes the format that --format names, whatever the name of the file', async () => {
  expect(await run('labels', 'export', '--format', 'csv', '--out', 'odd.ndjson')).toMatchObject({ code: 0 });
  expect(readFileSync(join(cwd, 'odd.ndjson'), 'utf8')).toMatch(/^tenant,/u);
});

describe('labels agreement', () => {
  it('measures each version of a scorer, and the reviewers against each other', async () => {
    const scorer = 'measured';
    const good = await storeScores(
      scorer,
      Array.from({ length: 40 }, () => 0.9),
    );
    const bad = await storeScores(
      scorer,
      Array.from({ length: 20 }, () => 0.1),
    );
    const newer = await storeScores(scorer, [0.9, 0.1], 'f2');
    const label = (traceId: string, score: number, reviewer = 'ann') => ({
      traceId,
      scorer,
      score,
      reviewer,
    });
    const file = write('measured.ndjson', [
      ...good.map((traceId, index) => label(traceId, index < 4 ? 0 : 1)),
      ...bad.map((traceId) => label(traceId, 0)),
      ...newer.map((traceId) => label(traceId, 1)),
      label(good[0] ?? '', 0, 'bob'),
      label(good[9] ?? '', 1, 'bob'),
    ]);
    expect(await run('labels', 'import', file)).toMatchObject({ code: 0 });
    const { code, stdout } = await run('labels', 'agreement', '--scorer', scorer, '--json');
    expect(code).toBe(0);
    const { versions, reviewers } = JSON.parse(stdout) as {
      versions: { fingerprint: string; corrected: { share: number } | null }[];
      reviewers: object[];
    };
    const byName = new Map(versions.map((version) => [version.fingerprint, version]));
    expect([...byName.keys()].toSorted()).toEqual(['f1', 'f2']);
    expect(byName.get('f1')).toMatchObject({
      judgeModel: 'judge-1',
      scores: 60,
      n: 60,
      confusion: { bothPass: 36, leftPasses: 4, rightPasses: 0, bothFail: 20 },
      sensitivity: 1,
    });
    expect(byName.get('f1')?.corrected?.share).toBeCloseTo(0.6, 9);
    expect(byName.get('f2')).toMatchObject({ n: 2, corrected: { share: 1 } });
    expect(reviewers).toMatchObject([{ left: 'ann', right: 'bob', n: 2, agreement: 1, kappa: 1 }]);
    const shown = await run('labels', 'agreement', '--scorer', scorer);
    expect(shown.stdout).toMatch(/f1 +judge-1 +60 .*0\.60 \(0\.\d\d to 0\.\d\d\)/u);
    expect(shown.stdout).toMatch(/ 1\.00 \(0\.\d\d to 1\.00\) /u);
  });

  it('says what to do without labels', async () => {
    const { code, stderr } = await run('labels', 'agreement', '--scorer', 'bias');
    expect(code).toBe(0);
    expect(stderr).toContain('GET /api/v1/labels/queue?scorer=bias,');
  });
});

describe('--scorer of labels', () => {
  it('means all rows of a scorer that writes several', async () => {
    const rows = ['grounding-faithfulness', 'grounding-hallucination'];
    const labels: object[] = [];
    for (const scorer of rows) {
      const [traceId] = await storeScores(scorer, [0.9]);
      labels.push(...['ann', 'bob'].map((reviewer) => ({ traceId, scorer, score: 1, reviewer })));
    }
    expect(await run('labels', 'import', write('rows.ndjson', labels))).toMatchObject({ code: 0 });
    const exported = await run('labels', 'export', '--scorer', 'grounding', '--json');
    const lines = jsonLines(exported.stdout) as { scorer: string }[];
    expect(lines.map(({ scorer }) => scorer).toSorted()).toEqual(rows.flatMap((name) => [name, name]));
    const { stdout } = await run('labels', 'agreement', '--scorer', 'grounding', '--json');
    const found = JSON.parse(stdout) as Record<'versions' | 'reviewers', { scorer: string; n: number }[]>;
    for (const list of [found.versions, found.reviewers]) {
      expect(list.map(({ scorer, n }) => `${scorer} ${n}`).toSorted()).toEqual(
        rows.map((name) => `${name} 1`),
      );
    }
    const shown = await run('labels', 'agreement', '--scorer', 'grounding');
    expect(shown.stdout).toMatch(/^grounding-faithfulness +f1 /mu);
    expect(shown.stdout).toMatch(/^grounding-hallucination +ann +bob /mu);
  });

  it.each(['export', 'agreement'])('is refused by labels %s when it names no scorer', async (command) => {
    const { code, stdout, stderr } = await run('labels', command, '--scorer', 'bais');
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain('there is no scorer bais; did you mean bias?');
  });
});

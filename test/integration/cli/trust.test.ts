import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyFolder } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';

const cwd = emptyFolder();

function write(name: string, lines: readonly object[]): string {
  writeFileSync(join(cwd, name), lines.map((line) => JSON.stringify(line)).join('\n'));
  return name;
}

const run = (...argv: string[]) => runCommand(argv, { cwd });

const readLines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));

const times = <Line>(count: number, line: Line): Line[] => Array.from({ length: count }, () => line);

describe('alerts explain --scores', () => {
  const before = { scoredAt: '2026-01-19T00:00:00Z', facets: { agentVersion: '3.1', tool: ['search'] } };
  const after = { scoredAt: '2026-01-20T00:00:00+00:00', facets: { agentVersion: '3.2', tool: ['search'] } };

  it('prints a line for each series in the order of first sight, split by --change', async () => {
    const file = write('scores.ndjson', [
      ...times(100, { series: 'fell', score: 0.9, ...before }),
      ...times(100, { score: 0.5, ...before }),
      ...times(100, { series: 'fell', score: 0.6, ...after }),
      ...times(100, { score: 0.5, ...after, facets: { agentVersion: 3.1 } }),
    ]);
    const { code, stdout } = await run(
      'alerts',
      'explain',
      '--scores',
      file,
      '--change',
      '2026-01-20',
      '--json',
    );
    expect(code).toBe(0);
    expect(readLines(stdout)).toMatchObject([
      {
        series: 'fell',
        before: { mean: expect.closeTo(0.9, 9) as number, n: 100 },
        verdict: 'segment',
        causes: [{ segment: { agentVersion: '3.2' }, isNew: true, n: 100 }],
        sentence: '−0.30 in fell: 100 % within agent version 3.2 (new, 0.90 → 0.60), mix 0 %.',
      },
      { series: 'scores', change: 0, verdict: 'none', causes: [] },
    ]);
  });

  it.each([
    [{ score: 0.9, scoredAt: '2026-01-19T00:00:00Z' }, /bad\.ndjson:1: period: is required/u],
    [{ score: 1.9, period: 'after' }, /bad\.ndjson:1: score: .* a line is \{"series"/u],
    [{ score: 1, period: 'after', facets: { a: [1] } }, /bad\.ndjson:1: facets: write texts/u],
    [{ score: 1, period: 'after', weight: -1 }, /bad\.ndjson:1: weight: /u],
  ])('refuses the line %j', async (line, expected) => {
    const { code, stderr } = await run('alerts', 'explain', '--scores', write('bad.ndjson', [line]));
    expect(code).toBe(1);
    expect(stderr).toMatch(expected);
  });

  it('refuses to explain nothing, or an incident and a file', async () => {
    expect(await run('alerts', 'explain')).toMatchObject({ code: 2 });
    expect(await run('alerts', 'explain', 'an-id', '--scores', 'x')).toMatchObject({ code: 2 });
  });
});

describe('labels estimate --scores --labels', () => {
  const scores = [
    { series: 'a', id: 'p', score: 0.5, weight: 2 },
    { series: 'a', score: 0.9, weight: 2, n: 899 },
    { series: 'a', score: 0.1, weight: 2, n: 100 },
    { series: 'unchecked', score: 1, n: 3 },
  ];
  const labels = [
    { series: 'a', id: 'p', passes: true },
    { series: 'a', score: 0.9, passes: true, weight: 2, n: 44 },
    { series: 'a', score: 0.9, passes: false, weight: 2, n: 5 },
    { series: 'a', score: 0.1, passes: true, n: 10 },
    { series: 'a', score: 0.1, passes: false, n: 40 },
  ];

  it('prints a line for each series, with the interval of few labels, and null where nobody checked', async () => {
    const [left, right] = [write('s.ndjson', scores), write('l.ndjson', labels)];
    const { code, stdout } = await run('labels', 'estimate', '--scores', left, '--labels', right, '--json');
    expect(code).toBe(0);
    const [checked, unchecked] = readLines(stdout);
    expect(checked).toMatchObject({
      series: 'a',
      scores: 1_000,
      effectiveN: 1_000,
      labels: 100,
      raw: 0.9,
      estimate: expect.closeTo(0.83, 9) as number,
      certificate: { state: 'uncertified' },
    });
    expect(checked.low).toBeGreaterThan(0.7);
    expect(checked.low).toBeLessThan(0.8);
    expect(checked.moreLabels.toHalve).toBeGreaterThan(100);
    expect(unchecked).toMatchObject({ series: 'unchecked', raw: 1, estimate: null, low: null, labels: 0 });
    const shown = await run('labels', 'estimate', '--scores', left, '--labels', right);
    expect(shown.stdout).toMatch(
      /a .* 90 % +83 % \[7\d, 8\d\], 100 labels .*uncertified\n.*not checked by people/u,
    );
  });

  it.each([
    [{ series: 'a', id: 'q', passes: true }, /bad\.ndjson:1: no score of its series has the id q; name/u],
    [{ series: 'a', passes: true }, /bad\.ndjson:1: has neither id nor score; name/u],
    [{ series: 'a', score: 1 }, /bad\.ndjson:1: passes: .* a line is/u],
  ])('refuses the label %j', async (label, expected) => {
    const [left, right] = [write('s.ndjson', scores), write('bad.ndjson', [label])];
    const { code, stderr } = await run('labels', 'estimate', '--scores', left, '--labels', right);
    expect([code, stderr]).toEqual([1, expect.stringMatching(expected)]);
  });

  it('refuses one file without the other, and neither files nor a scorer', async () => {
    expect(await run('labels', 'estimate', '--scores', 'x')).toMatchObject({ code: 2 });
    expect(await run('labels', 'estimate')).toMatchObject({ code: 2 });
  });
});

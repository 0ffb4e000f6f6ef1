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

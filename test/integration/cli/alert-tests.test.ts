import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { emptyFolder, runCli } from '../../support/processes/cli.ts';

const RULES = `
groups:
  - name: quality
    rules:
      - { alert: Drift, detector: drift, reference: { days: 7, minScores: 200, minDays: 3 }, for: 30m }
      - { alert: Silent, detector: no_data, after: 2h }
`;

const TESTS = `
rules: [rules.yaml]
tests:
  - name: a fall is told, and its end
    series:
      - name: a
        segments:
          - { for: 10d, scores: [0.7, 0.9] }
          - { for: 2d, scores: [0.5] }
          - { for: 4d, scores: [0.7, 0.9] }
          - { for: 3h, scores: [] }
    expect:
      - { alert: Drift, series: a, at: 5d, state: learning }
      - { alert: Drift, series: a, at: 10d, state: ok, firings: 0 }
      - { alert: Drift, series: a, at: 12d, state: firing, firings: 1 }
      - { alert: Drift, series: a, at: 16d, state: ok, firings: 1 }
      - { alert: Silent, series: a, at: 16d, firings: 0 }
      - { alert: Silent, series: a, state: firing }
`;

async function runTests(tests: string, ...more: string[]) {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, 'rules.yaml'), RULES);
  writeFileSync(join(cwd, 'quality.test.yaml'), tests);
  return runCli(['alerts', 'test', 'quality.test.yaml', ...more], { cwd });
}

describe('alerts test', () => {
  it('checks the expectations of rules at given times', async () => {
    const { code, stdout, stderr } = await runTests(TESTS);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.match(/^ok /gm)).toHaveLength(6);
  });

  it('fails on a wrong expectation, and prints the real state', async () => {
    const { code, stdout, stderr } = await runTests(
      TESTS.replace('at: 12d, state: firing', 'at: 12d, state: ok'),
    );
    expect(code).toBe(1);
    expect(stdout).toContain(
      'FAIL a fall is told, and its end: Drift on a at 12d\n       expected ok, 1 firing\n       found    firing, 1 firing',
    );
    expect(stderr).toContain('1 expectation failed');
  });

  it('fails on a rule or series that does not exist', async () => {
    const { code, stdout } = await runTests(
      TESTS.replace('alert: Silent, series: a, state', 'alert: Quiet, series: a, state'),
      '--json',
    );
    expect(code).toBe(1);
    const outcomes = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(outcomes.find(({ alert }) => alert === 'Quiet')).toMatchObject({
      ok: false,
      found: null,
      at: 'end',
    });
  });

  it.each([
    [
      TESTS.replace('firings: 0 }', 'firing: 0 }'),
      'quality.test.yaml:14:56: tests[0].expect[1].firing: unknown key; did you mean firings?',
    ],
    [TESTS.replace('rules.yaml', 'other.yaml'), 'there is no file other.yaml'],
    [TESTS.replace(', state: learning', ''), 'has no expectation: give state, firings or both'],
  ])('refuses a file that cannot be used', async (tests, message) => {
    const { code, stderr } = await runTests(tests);
    expect(code).toBe(78);
    expect(stderr).toContain(message);
  });
});

import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createScoreSpool } from '../../../src/monitors/live/backtest-scores.ts';
import { emptyFolder, jsonLines } from '../../support/processes/cli.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { buildScore, storeFlags, testStore } from '../../support/store/store-rows.ts';
import { type Change, scoreBuckets, seededRandom } from '../../support/builders/score-streams.ts';

const START_MS = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;

const RULES = `
groups:
  - name: quality
    rules:
      - { alert: Drift, detector: drift, reference: { days: 7, minScores: 200, minDays: 3 } }
      - { alert: Floor, detector: floor, minimum: 0.5 }
      - { alert: Paused, detector: no_data, paused: true }
`;

function scoreLines(series: string, options: { days: number; change?: Change }): string[] {
  const buckets = scoreBuckets({ family: 'beta', perHour: 20, seed: 1, startMs: START_MS, ...options });
  return [...buckets].flatMap(({ startMs, scores }) =>
    scores.values.flatMap((score, index) =>
      Array.from({ length: scores.counts[index] ?? 0 }, (_, nth) =>
        JSON.stringify({ series, scoredAt: new Date(startMs + nth * 1000).toISOString(), score }),
      ),
    ),
  );
}

function shuffled(lines: readonly string[]): string[] {
  const random = seededRandom(3);
  return lines
    .map((line) => [random(), line] as const)
    .sort(([a], [b]) => a - b)
    .map(([, line]) => line);
}

async function backtest(lines: readonly string[], ...more: string[]) {
  const cwd = emptyFolder();
  writeFileSync(join(cwd, 'rules.yaml'), RULES);
  writeFileSync(join(cwd, 'scores.ndjson'), `${lines.join('\n')}\n`);
  return runCommand(['alerts', 'backtest', '--rules', 'rules.yaml', '--scores', 'scores.ndjson', ...more], {
    cwd,
  });
}

describe('alerts backtest', () => {
  const change = { atMs: START_MS + 10 * DAY_MS, untilMs: START_MS + 13 * DAY_MS, drop: 0.2 };
  const lines = [...scoreLines('falls', { days: 16, change }), ...scoreLines('stays', { days: 16 })];

  it('prints one line a rule and series with the events of the alert, for scores in any order', async () => {
    const ordered = await backtest(lines, '--json');
    const disordered = await backtest(shuffled(lines), '--json');
    expect(ordered.code).toBe(0);
    expect(disordered.stdout.split('\n').sort()).toEqual(ordered.stdout.split('\n').sort());
    const results = ordered.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(results.map(({ alert, series }) => `${alert} ${series}`).sort()).toEqual([
      'Drift falls',
      'Drift stays',
      'Floor falls',
      'Floor stays',
    ]);
    const falls = results.find(({ alert, series }) => alert === 'Drift' && series === 'falls');
    expect(falls).toMatchObject({ checks: 16 * 288, finalState: 'ok' });
    expect(falls.events.map(({ state }: { state: string }) => state)).toEqual(['firing', 'ok']);
    const [firing] = falls.events;
    expect(Math.abs(Date.parse(firing.changeBegan) - change.atMs)).toBeLessThan(DAY_MS / 4);
    expect(firing.before - firing.after).toBeGreaterThan(0.12);
    expect(firing.evidenceLog10).toBeGreaterThan(5.2);
    expect(results.filter((result) => result !== falls).flatMap(({ events }) => events)).toEqual([]);
  });

  it('shows the mean of each day beside the baseline, and where the alert fired', async () => {
    const { stdout } = await backtest(lines);
    expect(stdout).toContain('Drift on falls');
    expect(stdout).toMatch(/2026-01-1[12] .*█.*│.*firing \d\d:\d\d/);
  });

  it('says which rules cannot fire on scores alone', async () => {
    const cwd = emptyFolder();
    writeFileSync(join(cwd, 'rules.yaml'), `${RULES}      - { alert: JudgeDown, detector: scorer_errors }\n`);
    writeFileSync(join(cwd, 'scores.ndjson'), `${lines[0] ?? ''}\n`);
    const args = ['alerts', 'backtest', '--rules', 'rules.yaml', '--scores', 'scores.ndjson', '--json'];
    const { code, stderr } = await runCommand(args, { cwd });
    expect(code).toBe(0);
    expect(stderr).toBe(
      'JudgeDown cannot fire here: a backtest reads scores, and this detector needs failed and waiting attempts\n',
    );
  });

  it('has a line for a rule that no stored series belongs to', async () => {
    const its = await testStore();
    onTestFinished(() => its.stop());
    await its.store.scores.write([buildScore({ scorer: 'tone', traceTimestamp: Date.now() - 3_600_000 })]);
    const cwd = emptyFolder();
    const rules = [
      { alert: 'Misspelt', detector: 'drift', series: { scorer: 'tonne', agent: 'shop' } },
      { alert: 'Paused', detector: 'no_data', series: { scorer: 'tonne' }, paused: true },
      { alert: 'Tone', detector: 'floor', minimum: 0.5, series: { scorer: 'tone' } },
    ];
    writeFileSync(join(cwd, 'rules.yaml'), JSON.stringify({ groups: [{ name: 'quality', rules }] }));
    const onStore = async (...more: string[]) => {
      const args = ['alerts', 'backtest', '--rules', 'rules.yaml', ...storeFlags(its.options), ...more];
      return runCommand(args, { cwd });
    };
    const { stdout, stderr } = await onStore();
    expect(stdout).toContain(
      'Misspelt watched nothing: no series of these scores has scorer tonne, agent shop\n',
    );
    expect(stderr).toContain('Misspelt: there is no scorer tonne; did you mean tone?\n');
    const none = { series: null, scores: 0, checks: 0, finalState: null, events: [] };
    expect(jsonLines((await onStore('--json')).stdout)).toEqual([
      expect.objectContaining({ alert: 'Tone', series: expect.stringContaining('tone'), scores: 1 }),
      { alert: 'Misspelt', ...none },
    ]);
  });

  it.each([
    ['{"scoredAt":"2026-01-01T00:00:00Z","score":1.2}', 'scores.ndjson:2: score:'],
    ['{"scoredAt":"yesterday","score":1}', 'scores.ndjson:2: scoredAt:'],
    ['{"scoredAt":"2026-01-01T00:00:00","score":1}', 'scores.ndjson:2: scoredAt:'],
    ['nonsense', 'scores.ndjson:2: not JSON'],
  ])('refuses %s and names its line', async (line, message) => {
    const { code, stderr } = await backtest([lines[0] ?? '', line]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  it('names each fault of a file of rules with its line', async () => {
    const cwd = emptyFolder();
    writeFileSync(
      join(cwd, 'bad.yaml'),
      'groups:\n  - name: a\n    rules:\n      - { alert: X, detector: drif }\n',
    );
    const { code, stderr } = await runCommand(['alerts', 'check', '--rules', 'bad.yaml'], { cwd });
    expect(code).toBe(78);
    expect(stderr).toContain('bad.yaml:4:21: groups[0].rules[0].detector');
    expect(stderr).toContain('did you mean drift?');
  });
});

afterEach(() => {
  vi.unstubAllEnvs();
});

describe('scores that are many', () => {
  it('are laid out on disk, come back whole and in order, and leave no file', async () => {
    // Other tests spool scores at the same time.
    const folder = emptyFolder();
    vi.stubEnv('TMPDIR', folder);
    const mine = () => readdirSync(folder);
    const random = seededRandom(5);
    const spool = createScoreSpool();
    const count = 3_500_000;
    let sum = 0;
    for (let index = 0; index < count; index += 1) {
      const step = Math.floor(random() * 1001);
      sum += step;
      const pending = spool.add({
        atMs: START_MS + Math.floor(random() * 2 * DAY_MS),
        series: index % 7,
        step,
      });
      if (pending !== undefined) {
        await pending;
      }
    }
    expect(mine()).toHaveLength(1);
    let last = 0;
    let seen = 0;
    let disordered = 0;
    for await (const { atMs, step } of spool.inOrder()) {
      disordered += atMs < last ? 1 : 0;
      last = atMs;
      seen += 1;
      sum -= step;
    }
    await spool.dispose();
    expect({ seen, disordered, sum, files: mine() }).toEqual({
      seen: count,
      disordered: 0,
      sum: 0,
      files: [],
    });
  });
});

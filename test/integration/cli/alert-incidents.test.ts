import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { configuredMonitors } from '../../../src/monitors/live/configured-monitors.ts';
import { loadConfig } from '../../../src/configuration.ts';
import type { AlertEvent } from '../../../src/monitors/alert-event.ts';
import type { Evaluator } from '../../../src/monitors/evaluator.ts';
import { budgetAlert } from '../../support/builders/an-alert.ts';
import { emptyFolder, jsonLines } from '../../support/processes/cli.ts';
import { testStore, type TestStore } from '../../support/store/store-rows.ts';
import { DAY_MS, HOUR_MS } from '../../support/monitors/hourly-monitors.ts';
import { runCommand } from '../../support/processes/run-command.ts';
import { monitorWorld, type MonitorWorld, WORLD_START_MS } from '../../support/monitors/monitor-world.ts';

const RULES = `groups:
  - name: quality
    interval: 60m
    rules:
      - alert: Worse
        detector: drift
        reference: { days: 1, minScores: 30, minDays: 1 }
        labels: { severity: page }
      - { alert: Low, detector: floor, minimum: 0.5 }
      - { alert: Off, detector: floor, minimum: 0.5, paused: true }
`;

let base: TestStore;
let world: MonitorWorld;
let evaluator: Evaluator;
const folder = emptyFolder();

beforeAll(async () => {
  base = await testStore();
  world = await monitorWorld(base);
  mkdirSync(join(folder, 'monitors'));
  writeFileSync(join(folder, 'monitors', 'quality.yaml'), RULES);
  writeFileSync(join(folder, 'spanscore.config.yaml'), 'monitors: [./monitors/*.yaml]\n');
  const { config } = await loadConfig({ cwd: folder, variables: {} });
  evaluator = world.evaluator(await configuredMonitors(config));
  await evaluator.advance();
  const begun = WORLD_START_MS + 30 * HOUR_MS;
  await world.scoredHourly(WORLD_START_MS, begun, [{ score: 0.8 }, { score: 0.9 }]);
  await world.scoredHourly(
    begun,
    begun + 12 * HOUR_MS,
    [0.1, 0.15, 0.2].map((score) => ({ score, serviceVersion: 'v2' })),
  );
  const late = { score: 0.9, evidenceUntil: WORLD_START_MS, traceTimestamp: WORLD_START_MS - 60 * DAY_MS };
  await world.scored(begun + HOUR_MS, [late, late]);
  await world.scored(begun + 11 * HOUR_MS, [late]);
  world.clockMs = begun + 12 * HOUR_MS + 61_000;
  await evaluator.advance();
});
afterAll(async () => {
  await world.stop();
  await base.stop();
});

function command(...args: readonly string[]) {
  return runCommand([...args, ...world.flags], { cwd: folder });
}

function alerts(...args: readonly string[]) {
  return command('alerts', ...args);
}

async function readIncident(alert: string): Promise<AlertEvent> {
  const open = await world.store.alerts.open();
  const found = open.find((event) => event.alert === alert);
  if (found === undefined) {
    throw new Error(`no incident of ${alert} is open`);
  }
  return found;
}

describe('alerts that run', () => {
  test('are listed by series, alerts first, with paused rules', async () => {
    const { code, stdout, stderr } = await alerts('list', '--json');
    expect(code).toBe(0);
    expect(stderr).toContain('Off is paused');
    expect(jsonLines(stdout)).toMatchObject([
      {
        alert: 'Low',
        phase: 'firing',
        detector: 'floor',
        muted: false,
        lateScores: 3,
        lastLateBucket: new Date(WORLD_START_MS + 41 * HOUR_MS).toISOString(),
      },
      {
        alert: 'Worse',
        phase: 'firing',
        series: { scorer: 'keyword-coverage', agent: 'weather-agent' },
        incidentId: (await readIncident('Worse')).incidentId,
        finding: { changeBegan: new Date(WORLD_START_MS + 30 * HOUR_MS).toISOString() },
      },
    ]);
    const { stdout: text } = await alerts('list');
    expect(text).toMatch(/^STATE +SINCE +ALERT +SERIES +WHAT +INCIDENT\nfiring /);
    expect(text).toContain('0.850 → 0.150, n 6, since');
    expect(text).toContain('below 0.5: 0.15 over 21 scores, since');
    expect(text).toContain('; 3 late scores not counted');
  });

  test('are listed as paused, without their earlier state, once their rule is paused', async () => {
    const file = join(folder, 'monitors', 'quality.yaml');
    writeFileSync(file, RULES.replace('{ alert: Low,', '{ alert: Low, paused: true,'));
    try {
      const { stdout } = await alerts('list', '--json');
      expect(jsonLines(stdout)).toMatchObject([
        { alert: 'Low', phase: 'paused', incidentId: null },
        { alert: 'Worse', phase: 'firing' },
      ]);
    } finally {
      writeFileSync(file, RULES);
    }
  });

  test('are checked with the configuration', async () => {
    const { code, stdout } = await command('check-config', '--json');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      {
        monitors: [
          { alert: 'Worse', detector: 'drift' },
          { alert: 'Low', detector: 'floor' },
          { alert: 'Off', detector: 'floor' },
        ],
      },
    ]);
  });

  test('are listed by their incidents', async () => {
    const { stdout } = await alerts('list', '--incidents', '--json');
    expect(jsonLines(stdout)).toHaveLength(2);
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({
        alert: 'Worse',
        status: 'firing',
        lateScores: 2,
        endsAt: null,
        acknowledgedAt: null,
      }),
    );
    const { stderr } = await alerts('list', '--incidents', '--since', '1h');
    expect(stderr).toContain('no incidents');
  });

  test('are compared since a deploy', async () => {
    const { code, stdout } = await alerts('list', '--since-deploy', 'v2', '--json');
    expect(code).toBe(0);
    expect(jsonLines(stdout)).toMatchObject([
      {
        service: 'shop',
        version: 'v2',
        // The first run began 15 s before its score was written.
        deployedAt: new Date(WORLD_START_MS + 30.5 * HOUR_MS - 15_000).toISOString(),
        verdict: 'worse',
        before: { mean: expect.closeTo(0.85, 9), count: 60 },
        after: { mean: expect.closeTo(0.15, 9), count: 36 },
      },
    ]);
    expect((await alerts('list', '--since-deploy', 'v2')).stdout).toMatch(/^worse +keyword-coverage/);
    expect(await alerts('list', '--since-deploy', 'v9')).toMatchObject({ code: 4 });
  });

  test('are muted by name or incident for a while, and speak again', async () => {
    const { incidentId } = await readIncident('Low');
    expect((await alerts('mute', 'Worse', '--for', '2h')).stdout).toContain('no messages about Worse until');
    expect((await alerts('mute', incidentId, '--for', '2h', '--reason', 'release 1.5')).code).toBe(0);
    const reasons = (await world.store.alerts.mutes()).map(({ reason }) => reason);
    expect(reasons).toContain('release 1.5');
    const { stdout } = await alerts('list', '--json');
    expect(jsonLines(stdout)).toMatchObject([{ muted: true }, { muted: true }]);
    expect((await alerts('list')).stdout).toContain('firing (muted)');
    expect((await alerts('unmute', 'Worse')).code).toBe(0);
    expect((await alerts('unmute', incidentId)).code).toBe(0);
    expect(await world.store.alerts.mutes()).toEqual([]);
    expect(await alerts('unmute', incidentId)).toMatchObject({ code: 4 });
  });

  test('are not muted when the subject does not exist, or without a time', async () => {
    expect(await alerts('mute', 'Worze', '--for', '2h')).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('no alert or incident Worze'),
    });
    expect(await alerts('mute', 'Worse', '--for', 'ever')).toMatchObject({ code: 2 });
    expect(await alerts('mute', 'Worse')).toMatchObject({ code: 2 });
  });

  test('are acknowledged when they have a reference to reset', async () => {
    const { incidentId } = await readIncident('Worse');
    const low = await readIncident('Low');
    expect(await alerts('ack', low.incidentId)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/floor monitor, which has no reference/),
    });
    expect(await alerts('ack', 'f'.repeat(8))).toMatchObject({ code: 4 });
    expect((await alerts('ack', incidentId.toUpperCase())).stdout).toContain('Worse gets a new baseline');
    // The store stamps an acknowledgement with its own time, which is that of today.
    world.clockMs = Date.now() + DAY_MS;
    await evaluator.advance();
    expect((await world.store.alerts.open()).map(({ alert }) => alert)).not.toContain('Worse');
    expect(await alerts('ack', incidentId)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing to acknowledge'),
    });
    const { stdout } = await alerts('list', '--incidents', '--json');
    expect(jsonLines(stdout)).toContainEqual(
      expect.objectContaining({ status: 'resolved', alert: 'Worse', acknowledgedAt: expect.any(String) }),
    );
  });

  test('of a budget are listed with the money, and muted by the name that all of them have', async () => {
    const startsAtMs = Date.now() - 1_000;
    await world.store.alerts.write([{ ...budgetAlert(80, 4.1), startsAtMs }]);
    const list = ['list', '--incidents', '--since', '1h'];
    expect((await alerts(...list)).stdout).toContain(
      "firing  BudgetSpent  rule production's budget of 5 USD a UTC day: 80 % is reached, 4.1 USD are spent  ",
    );
    expect(await alerts('mute', 'BudgetSpent', '--for', '2h')).toMatchObject({ code: 0 });
    const incidents = jsonLines((await alerts(...list, '--json')).stdout);
    expect(incidents.filter((each) => (each as AlertEvent).alert === 'BudgetSpent')).toMatchObject([
      {
        muted: true,
        budget: { scope: 'rule', rule: 'production', percent: 80, renewsAt: '2026-11-22T00:00:00.000Z' },
      },
    ]);
    expect((await alerts('ack', budgetAlert(80, 4.1).incidentId)).stderr).toContain(
      'has no reference to reset',
    );
  });

  test('name scorers that cannot be watched', async () => {
    await world.scored(Date.now() - HOUR_MS, [{ scorer: 'free-text', scoreMax: null }]);
    const [fromMs, toMs] = [Math.floor(Date.now() / HOUR_MS - 2), Math.ceil(Date.now() / HOUR_MS)].map(
      (hour) => hour * HOUR_MS,
    ) as [number, number];
    await world.store.monitors.close({ intervalMs: HOUR_MS, fromMs, toMs }, []);
    expect((await alerts('list')).stderr).toMatch(/free-text is not monitored: it has no range/);
  });
});

test('a backtest on stored scores tells when rules would have fired on the series that they select', async () => {
  const rules = join(folder, 'backtest.yaml');
  writeFileSync(
    rules,
    `groups:
  - name: quality
    interval: 60m
    rules:
      - { alert: Worse, detector: drift, reference: { days: 1, minScores: 30, minDays: 1 } }
      - { alert: Elsewhere, detector: floor, minimum: 0.5, series: { agent: nobody } }
      - { alert: Part, detector: floor, minimum: 0.5, by: [serviceVersion], minDailyScores: 3 }
      - { alert: TooSmall, detector: floor, minimum: 0.5, by: [serviceVersion], minDailyScores: 1000 }
`,
  );
  const since = new Date(WORLD_START_MS).toISOString();
  const { code, stdout, stderr } = await command(
    'alerts',
    'backtest',
    '--rules',
    rules,
    '--since',
    since,
    '--json',
  );
  expect(code).toBe(0);
  expect(stderr).toMatch(/^store: server [^\n]*\n$/);
  const lines = jsonLines(stdout) as { [key: string]: unknown; events: { state: string }[] }[];
  const unwatched = lines.filter(({ series }) => series === null).map(({ alert }) => alert);
  expect(new Set(unwatched)).toEqual(new Set(['Elsewhere', 'TooSmall']));
  const watched = lines.filter(({ series }) => series !== null);
  const results = watched.map((line) =>
    [
      line['alert'],
      line['series'],
      line['finalState'],
      line['scores'],
      ...line.events.map(({ state }) => state),
    ].join(' '),
  );
  expect(new Set(results)).toEqual(
    new Set([
      'Worse keyword-coverage/weather-agent#f1 firing 96 firing',
      'Part keyword-coverage/weather-agent/service version unknown#f1 ok 58',
      'Part keyword-coverage/weather-agent/service version v2#f1 firing 36 firing',
    ]),
  );
});

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { configuredMonitors } from '../../../src/monitors/live/configured-monitors.ts';
import { parseConfig } from '../../../src/configuration.ts';
import type { Score } from '../../../src/domain/score.ts';
import type { MonitorGroup } from '../../../src/monitors/rule.ts';
import { testEngine, type TestEngine } from '../../support/store/engine.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { runToTheEnd, startMonitorRun } from '../../support/processes/monitor-runs.ts';
import type { MonitorJob } from '../../support/processes/monitor-process.ts';
import { HOUR_MS, monitorGroup, monitorRule } from '../../support/monitors/hourly-monitors.ts';
import { scoreRowAt, WORLD_START_MS as START } from '../../support/monitors/monitor-world.ts';
import { type MonitoredDatabase, monitoredDatabase } from '../../support/store/monitored-database.ts';
import { receivedWebhooks } from '../../support/fakes/received-webhooks.ts';
import { seededRandom } from '../../support/builders/score-streams.ts';
import { ServeFolder } from '../../support/processes/serve-process.ts';
import { type StepGates, startStepGates } from '../../support/fakes/step-gates.ts';
import { until } from '../../support/until.ts';

// Many processes, one after the other, on a machine that is busy with other things.
vi.setConfig({ testTimeout: 1_200_000 });

// SPANSCORE_SEED repeats the random choices of a run. SPANSCORE_STEPS=all kills at every step, which is the whole proof.
const SEED = Number(process.env['SPANSCORE_SEED'] ?? Date.now() % 1_000_000);
const random = seededRandom(SEED);

/** Of the steps at which a process is killed, each of so many is taken, and the first of each kind. */
const STRIDE = process.env['SPANSCORE_STEPS'] === 'all' ? 1 : 8;

/** A minute after its end a bucket is closed. */
const CLOSED_MS = 61_000;

/** Scores of the series in the middle of each hour, a block an hour. */
function hourlyScores(
  hours: { readonly fromMs: number; readonly toMs: number; readonly isBad: (atMs: number) => boolean },
  series: readonly Partial<Score>[],
): object[][] {
  return Array.from({ length: (hours.toMs - hours.fromMs) / HOUR_MS }, (_, hour) => {
    const startMs = hours.fromMs + hour * HOUR_MS;
    const lowest = hours.isBad(startMs) ? 0.1 : 0.8;
    return series.flatMap((fields) =>
      Array.from({ length: 20 }, (__, index) =>
        scoreRowAt(startMs + HOUR_MS / 2, { ...fields, score: lowest + index / 100 }),
      ),
    );
  });
}

/** A database, and the gates through which processes reach it and the receiver. */
interface World {
  readonly database: MonitoredDatabase;
  readonly gates: StepGates;
  close(): Promise<void>;
}

let engine: TestEngine;
let receiver: HttpReceiver;
let paths = 0;

beforeAll(async () => {
  engine = await testEngine();
  receiver = await startHttpReceiver();
});
afterAll(async () => {
  await receiver.close();
  await engine.stop();
});

async function newWorld(scores: readonly (readonly object[])[]): Promise<World> {
  const database = await monitoredDatabase(engine, scores);
  const gates = await startStepGates(database.options.url, receiver.url);
  const close = async () => {
    await gates.close();
    await database.close();
  };
  return { database, gates, close };
}

function newPath(): string {
  paths += 1;
  return `/${paths}`;
}

function jobIn(
  { database, gates }: World,
  job: Pick<MonitorJob, 'groups' | 'clocksMs'>,
  path: string,
): MonitorJob {
  const options = { ...database.options, url: gates.storeUrl };
  return { ...job, options, webhook: `${gates.webhookUrl}${path}` };
}

/** Stored rows and received requests at the end. */
async function readOutcome({ database }: World, path: string) {
  return { kept: await database.allKept(), ...receivedWebhooks(receiver, path) };
}
type Outcome = Awaited<ReturnType<typeof readOutcome>>;

function expectOneOfEach(
  { incidents, changed }: Pick<Outcome, 'incidents' | 'changed'>,
  count: number,
): void {
  const statuses = Object.values(incidents).map((told) => told.map(({ status }) => status));
  expect(statuses).toEqual(Array.from({ length: count }, () => ['firing', 'resolved']));
  expect(changed).toEqual([]);
}

describe('a process that monitors and is killed', () => {
  const fallsMs = START + 6 * HOUR_MS;
  const recoversMs = fallsMs + 4 * HOUR_MS;
  const endsMs = recoversMs + 6 * HOUR_MS;
  const job = {
    groups: [
      monitorGroup(
        monitorRule({
          kind: 'drift',
          tolerance: 0.02,
          reference: { days: 0.2, minScores: 30, minDays: 1 },
          direction: 'down',
        }),
        monitorRule({ kind: 'floor', minimum: 0.5 }, { alert: 'Low', series: { agent: 'weather' } }),
      ),
    ],
    clocksMs: [recoversMs, endsMs].map((endMs) => endMs + CLOSED_MS),
  };
  const scores = hourlyScores(
    { fromMs: START, toMs: endsMs, isBad: (atMs) => atMs >= fallsMs && atMs < recoversMs },
    [{ agent: 'weather', model: 'm1' }, { agent: 'travel' }],
  );

  let worlds: readonly World[];
  let expected: Outcome;
  let steps: readonly string[];

  /** Monitors a world in which nothing was monitored before. */
  async function live(world: World, killAt: (life: number) => number) {
    await world.database.forget();
    const path = newPath();
    const killedAt = await runToTheEnd(jobIn(world, job, path), world.gates, killAt);
    return { killedAt, outcome: await readOutcome(world, path) };
  }

  beforeAll(async () => {
    worlds = [await newWorld(scores), await newWorld(scores)];
    const [world] = worlds as [World];
    expected = (await live(world, () => 0)).outcome;
    steps = [...world.gates.steps];
  });
  afterAll(() => Promise.all(worlds.map((world) => world.close())));

  it('sends the beginning and the end of each incident without interruptions', () => {
    expectOneOfEach(expected, 3);
    expect(expected.kept['alert_events']).toHaveLength(6);
    expect([...new Set(steps.filter((step) => step.startsWith('after')))].sort()).toEqual([
      'after alert_events',
      'after deliveries',
      'after monitor_buckets',
      'after monitor_states',
      'after progress',
      'after webhook',
    ]);
  });

  it('sends and stores the same after a kill at any step of evaluation and delivery', async () => {
    // After a write that nobody learned of is, for what is stored, before the next one.
    const writes = steps.flatMap((name, index) =>
      name.startsWith('after') ? [{ name, at: index + 1 }] : [],
    );
    const isFirst = ({ name }: { name: string }, index: number) =>
      writes.findIndex((each) => each.name === name) === index;
    const taken = writes.filter((write, index) => index % STRIDE === 0 || isFirst(write, index));
    const left = [...taken];
    async function takeSteps(world: World): Promise<void> {
      for (let write = left.shift(); write !== undefined; write = left.shift()) {
        const { name, at } = write;
        const { killedAt, outcome } = await live(world, (life) => (life === 1 ? at : 0));
        expect(killedAt).toEqual([name]);
        expect(outcome, `killed ${name}, step ${at}`).toEqual(expected);
      }
    }
    await Promise.all(worlds.map(takeSteps));
    expect(new Set(taken.map(({ name }) => name)).size).toBe(6);
  });

  it(`tells and stores the same after it was killed over and over (seed ${SEED})`, async () => {
    const lives = await Promise.all(
      worlds.map((world) => live(world, (life) => (life === 1 ? 20 : 1 + Math.floor(random() * 40)))),
    );
    for (const { killedAt, outcome } of lives) {
      expect(killedAt).not.toEqual([]);
      expect(outcome, `killed ${killedAt.join(', ')}`).toEqual(expected);
    }
  });

  it(`leaves the rest to another one that monitors at the same time (seed ${SEED})`, async () => {
    const [world] = worlds as [World];
    const others = await startStepGates(world.database.options.url, receiver.url);
    // One that was fast enough to get to its end is not counted.
    for (let kills = 0; kills < 3;) {
      await world.database.forget();
      const path = newPath();
      const victim = startMonitorRun(jobIn(world, job, path));
      const survivor = startMonitorRun(jobIn({ ...world, gates: others }, job, path));
      const at = 1 + Math.floor((random() * steps.length) / 2);
      world.gates.arm(at, victim.kill);
      kills += (await victim.ended).length > 0 ? 1 : 0;
      expect(await survivor.ended).toEqual([]);
      expect(await readOutcome(world, path), `killed ${world.gates.steps.at(-1)}, step ${at}`).toEqual(
        expected,
      );
    }
    await others.close();
  });
});

describe('a serve that is killed over and over while it catches up', () => {
  /** The next one waits up to 15 s until the one before counts as gone. */
  const KILLS = 3;
  const CYCLES = 4;
  const endsMs = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - HOUR_MS;
  const firstFallMs = endsMs - CYCLES * 6 * HOUR_MS;
  const rules = {
    groups: [
      {
        name: 'quality',
        interval: '1h',
        rules: [
          { alert: 'Worse', detector: 'drift' as const, reference: { days: 1, minScores: 30, minDays: 1 } },
          { alert: 'Low', detector: 'floor' as const, minimum: 0.5 },
        ],
      },
    ],
  };
  /** Three bad hours, three good ones. */
  const scores = hourlyScores(
    {
      fromMs: firstFallMs - 26 * HOUR_MS,
      toMs: endsMs,
      isBad: (atMs) => atMs >= firstFallMs && ((atMs - firstFallMs) / HOUR_MS) % 6 < 3,
    },
    [{ agent: 'weather' }],
  );

  let groups: readonly MonitorGroup[];
  let undisturbed: World;
  let disturbed: World;
  let serve: ServeFolder;

  /** It was monitored until the first fall; then nothing ran. */
  async function awayWorld(): Promise<World> {
    const world = await newWorld(scores);
    await world.database.store.monitors.markProgress(HOUR_MS, firstFallMs - HOUR_MS);
    return world;
  }

  beforeAll(async () => {
    groups = await configuredMonitors(parseConfig({ monitors: [rules] }));
    [undisturbed, disturbed] = [await awayWorld(), await awayWorld()];
  });
  afterAll(() => serve.dispose());
  afterAll(() => Promise.all([undisturbed, disturbed].map((world) => world.close())));

  it(`tells of each incident once that it began and once that it ended (seed ${SEED})`, async () => {
    const path = newPath();
    const job = jobIn(undisturbed, { groups, clocksMs: [Date.now()] }, path);
    expect(await runToTheEnd(job, undisturbed.gates, () => 0)).toEqual([]);
    const expected = receivedWebhooks(receiver, path);
    expectOneOfEach(expected, 2 * CYCLES);

    const its = newPath();
    const { database, gates } = disturbed;
    const { username, password, database: name } = database.options;
    serve = new ServeFolder({
      store: { url: gates.storeUrl, username, password, database: name },
      monitors: [rules],
      alerts: { webhook: [{ name: 'ops', url: `${gates.webhookUrl}${its}` }], groupWait: '0s' },
    });
    const isAllTold = () =>
      Object.values(receivedWebhooks(receiver, its).incidents).flat().length >= 4 * CYCLES;
    const killedAt: string[] = [];
    for (let isOver = false; !isOver;) {
      let killed: Promise<void> | undefined;
      // Most get further than the one before: a start and one range of buckets are 26 steps.
      gates.arm(killedAt.length < KILLS ? 20 + Math.floor(random() * 60) : 0, () => {
        killedAt.push(gates.steps.at(-1) ?? '');
        killed = serve.killGroup();
      });
      await serve.start().catch((error: unknown) => {
        if (killed === undefined) {
          throw error;
        }
      });
      await until(
        () => killed !== undefined || isAllTold(),
        240_000,
        () => serve.output.slice(-2000),
      );
      await killed;
      isOver = killed === undefined;
    }
    gates.arm(0, () => undefined);
    expect(await serve.stop()).toBe(0);
    expect(killedAt).not.toEqual([]);
    const received = receivedWebhooks(receiver, its);
    expect(received, `killed ${killedAt.join(', ')}`).toEqual(expected);
    expect(await database.kept('alert_events')).toEqual(await undisturbed.database.kept('alert_events'));
  });
});

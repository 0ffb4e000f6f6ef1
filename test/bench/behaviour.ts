/**
 * Measures the default monitors on simulated agents: false alarms in thirty calm days, and runs until a change is found. Ranges and paths
 * come from the last week of the agent, as in a store. `node test/bench/behaviour.ts [--agents 60] [--seed 1]`
 */
import { parseArgs } from 'node:util';
import { DEFAULT_MONITORS } from '../../src/config/schema/monitors.ts';
import {
  type AgentPast,
  chooseRange,
  computeSurprise,
  countTransitions,
  FIRST_RANGES,
  LEAST_RUNS,
  type Measure,
  writePath,
} from '../../src/domain/behaviour/measures.ts';
import { DAY_MS, HOUR_MS } from '../../src/domain/durations.ts';
import { buildHistogram, NO_OUTCOMES } from '../../src/monitors/bucket.ts';
import { buildMonitorGroups } from '../../src/monitors/live/configured-monitors.ts';
import { createDetector, type MonitorRule } from '../../src/monitors/rule.ts';
import { createSeries, foldBucket, isAlert } from '../../src/monitors/series.ts';
import { thresholdsFor } from '../../src/monitors/statistics/false-alarms.ts';
import { createBehaviourScorer } from '../../src/scorers/prebuilt/behaviour.ts';
import { BUCKET_MS, seededRandom } from '../support/builders/score-streams.ts';
import { buildRun } from './scorers/scorer-cases.ts';
import { atMost, head, row, sumUp, verdictOn } from './bench-table.ts';

const { values: options } = parseArgs({
  options: { agents: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
});
const agents = Number(options.agents);
const seed = Number(options.seed);

/** Days of the reference, and of the watch after it. */
const LEARNED_DAYS = 8;
const WATCHED_DAYS = 30;
/** Hours between two reads of the past, and days that it has. */
const PAST_EVERY_HOURS = 6;
const PAST_DAYS = 7;
/** Runs an hour of an agent, in turn. */
const RATES = [2, 6, 20];

const [group] = buildMonitorGroups(DEFAULT_MONITORS.flatMap(({ groups }) => groups));
const rules = group?.rules ?? [];
const thresholds = thresholdsFor({
  budget: group?.falseAlarmBudget ?? 1,
  series: agents * rules.length,
  intervalMs: BUCKET_MS,
});

const CHANGES = ['none', 'cost × 1.4', 'tool calls × 2', 'a new loop', 'one in six not answered'] as const;
type Change = (typeof CHANGES)[number];

type Run = Record<Exclude<Measure, 'path'>, number> & { readonly steps: number; readonly path: string[] };

/** Creates the draw of one agent's runs. */
function createAgent(random: () => number) {
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const [price, pace, tools] = [
    0.002 * Math.exp(normal()),
    2 * Math.exp(normal()),
    1 + Math.floor(4 * random()),
  ];
  return (atMs: number, change: Change): Run => {
    const day = 1 + 0.2 * Math.sin((2 * Math.PI * (atMs % DAY_MS)) / DAY_MS);
    let calls = 1 + Math.floor(tools * random() * 2);
    calls *= change === 'tool calls × 2' ? 2 : 1;
    const looped = change === 'a new loop' && random() < 0.2 ? 4 : random() < 0.02 ? 1 : 0;
    const path = ['plan', ...Array.from({ length: calls }, (_, at) => (at % 3 === 2 ? 'open' : 'search'))];
    path.push(...Array.from({ length: looped }, () => 'search'), 'answer');
    const work = (1 + path.length / 2) * Math.exp(0.4 * normal());
    const cost = price * work * (change === 'cost × 1.4' ? 1.4 : 1);
    const errors = path.filter((step) => step !== 'answer' && random() < 0.02).length;
    const isAnswered = random() >= (change === 'one in six not answered' ? 1 / 6 : 0.02);
    return {
      tokens: work * 1_000,
      cost,
      duration: pace * work * day,
      steps: path.length,
      'tool-calls': path.length - 1,
      'tool-errors': errors,
      repeats: looped,
      'answer-length': 300,
      answered: isAnswered ? 1 : 0,
      path,
    };
  };
}

interface Watched {
  /** Alarms that began in the watch, by alert. */
  readonly fired: Map<string, number>;
  /** Runs from the change to the first alarm; infinite without one. */
  readonly delay: number;
}

interface KeptRun {
  readonly atMs: number;
  readonly run: Run;
  readonly values: ReadonlyMap<Measure, number>;
}

/** Creates the scorer of one agent's runs. It returns directed scores by measure, with the ranges and paths of the last week. */
function createScoring() {
  const kept: KeptRun[] = [];
  const ranges = new Map<Measure, number>();
  let past: AgentPast | undefined;
  return {
    /** Reads the past again, as a store is read from time to time, and after each run of a new agent. */
    advance(atMs: number): void {
      if (atMs % (PAST_EVERY_HOURS * HOUR_MS) === 0 || kept.length < 2 * LEAST_RUNS) {
        kept.splice(
          0,
          Math.max(
            0,
            kept.findIndex((each) => each.atMs > atMs - PAST_DAYS * DAY_MS),
          ),
        );
        past = readPast(kept, ranges);
      }
    },
    score(run: Run, atMs: number, directed: ReadonlyMap<Measure, number[]>): void {
      const values = new Map<Measure, number>(
        Object.entries(run).filter(([name]) => name !== 'path') as never,
      );
      if (past !== undefined && past.transitions.runs >= LEAST_RUNS) {
        values.set('path', computeSurprise(run.path, past.transitions));
      }
      kept.push({ atMs, run, values });
      for (const [measure, list] of directed) {
        const value = values.get(measure);
        const max = chooseRange(measure, past?.measures.get(measure));
        ranges.set(measure, max);
        if (value !== undefined && FIRST_RANGES[measure] !== max) {
          const place = Math.min(1, value / max);
          list.push(measure === 'answered' ? place : 1 - place);
        }
      }
    },
  };
}

/** Creates the watch of one agent: all rules, folded bucket by bucket. */
function createWatch(fired: Map<string, number>) {
  const lanes = rules.map((rule) => {
    const detector = createDetector(rule.detection, thresholds);
    return { rule, detector, state: createSeries(detector), isOn: false };
  });
  /** Returns true when an alarm begins. */
  return (startMs: number, directed: ReadonlyMap<Measure, number[]>): boolean => {
    let isNew = false;
    for (const lane of lanes) {
      const list = directed.get(measureOf(lane.rule)) ?? [];
      const outcomes = { ...NO_OUTCOMES, scored: list.length };
      const bucket = { startMs, scores: buildHistogram(list), outcomes };
      lane.state = foldBucket(lane.detector, lane.rule.terms, lane.state, bucket).state;
      const isOn = isAlert(lane.state.phase);
      if (isOn && !lane.isOn) {
        fired.set(lane.rule.alert, (fired.get(lane.rule.alert) ?? 0) + 1);
        isNew = true;
      }
      lane.isOn = isOn;
    }
    return isNew;
  };
}

/** Watches the runs of one agent. A change begins after the reference, and the first alarm ends its watch. */
function watch(agent: number, change: Change): Watched {
  const random = seededRandom(seed * 10_007 + agent);
  const draw = createAgent(random);
  const perBucket = ((RATES[agent % RATES.length] ?? 1) * BUCKET_MS) / HOUR_MS;
  const fired = new Map<string, number>();
  const [scoring, fold] = [createScoring(), createWatch(fired)];
  const startMs = Date.UTC(2026, 0, 1);
  const changeMs = startMs + LEARNED_DAYS * DAY_MS;
  const endMs = changeMs + (change === 'none' ? WATCHED_DAYS : 10) * DAY_MS;
  let runs = 0;
  for (let atMs = startMs; atMs < endMs; atMs += BUCKET_MS) {
    const isChanged = atMs >= changeMs;
    scoring.advance(atMs);
    const directed = new Map<Measure, number[]>(rules.map((rule) => [measureOf(rule), []]));
    const arrivals = Math.floor(perBucket) + (random() < perBucket % 1 ? 1 : 0);
    for (let index = 0; index < arrivals; index += 1) {
      scoring.score(draw(atMs, isChanged ? change : 'none'), atMs, directed);
    }
    runs += isChanged ? arrivals : 0;
    if (fold(atMs, directed) && isChanged && change !== 'none') {
      return { fired, delay: runs };
    }
  }
  return { fired, delay: Number.POSITIVE_INFINITY };
}

function measureOf({ series }: Pick<MonitorRule, 'series'>): Measure {
  return (series.scorer ?? '').replace('behaviour-', '') as Measure;
}

function readPast(kept: readonly KeptRun[], ranges: ReadonlyMap<Measure, number>): AgentPast {
  const paths = new Map<string, number>();
  for (const { run } of kept) {
    const path = writePath(run.path);
    paths.set(path, (paths.get(path) ?? 0) + 1);
  }
  const measures = rules.map((rule) => {
    const measure = measureOf(rule);
    const values = kept.flatMap((each) => each.values.get(measure) ?? []).toSorted((a, b) => a - b);
    const upperQuartile = values[Math.floor(values.length * 0.75)] ?? 0;
    return [measure, { runs: values.length, upperQuartile, scoreMax: ranges.get(measure) ?? 0 }] as const;
  });
  return {
    measures: new Map(measures),
    transitions: countTransitions([...paths].map(([path, count]) => ({ path, runs: count }))),
  };
}

const quantile = (values: readonly number[], at: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * at))] ?? Number.NaN;

console.log(`seed ${seed}, ${agents} agents at ${RATES.join(', ')} runs an hour, ${rules.length} rules each`);
head(
  'Default monitors',
  'change',
  'series with an alarm',
  'runs until the first alarm: median (p90)',
  'by',
  'goal',
);
for (const change of CHANGES) {
  const watched = Array.from({ length: agents }, (_, agent) => watch(agent, change));
  const fired = new Map<string, number>();
  for (const [alert, times] of watched.flatMap((each) => [...each.fired])) {
    fired.set(alert, (fired.get(alert) ?? 0) + times);
  }
  const alarms = [...fired.values()].reduce((sum, times) => sum + times, 0) / (agents * rules.length);
  const delays = watched.map(({ delay }) => delay);
  const goal =
    change === 'none'
      ? atMost(alarms, 0.05, 'false alarms a series and month')
      : atMost(quantile(delays, 0.5), 425, 'runs');
  row(
    change,
    alarms.toFixed(4),
    change === 'none' ? '–' : `${quantile(delays, 0.5)} (${quantile(delays, 0.9)})`,
    [...fired].map(([alert, times]) => `${alert} ${times}`).join(', ') || '–',
    verdictOn(change, [goal]),
  );
}
/** Runs that are measured, and those before them, until the code is compiled. */
const [MEASURED, WARM] = [3_000, 500];

async function timeRuns(answerChars: number): Promise<number> {
  const scorer = createBehaviourScorer();
  const run = { ...buildRun(answerChars), usage: { totalTokens: 900 }, durationMs: 1_500, costUsd: 0.01 };
  let cpu = process.cpuUsage();
  for (let index = 0; index < WARM + MEASURED; index += 1) {
    cpu = index === WARM ? process.cpuUsage() : cpu;
    await scorer.run(run as Parameters<typeof scorer.run>[0]);
  }
  const { user, system } = process.cpuUsage(cpu);
  return (user + system) / 1_000 / MEASURED;
}

head('Time of the scorer', 'characters of the answer', 'ms of one core a run', 'goal');
for (const chars of [400, 4_000]) {
  const ms = await timeRuns(chars);
  row(String(chars), ms, verdictOn(`${chars} characters`, [atMost(ms, 0.15, 'ms')]));
}
sumUp();

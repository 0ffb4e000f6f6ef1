/**
 * Cost of little traffic, and of a start: 15 traces a second of 4 spans, with two code scorers on every trace and a judged one on a
 * quarter. Measures the processor time of `serve` and its engine by part, rows that merges rewrite for each row inserted, parts of
 * tables, open files and small reads with FINAL. Then it kills `serve`, while fresh traces wait, and measures the start.
 * `node test/bench/steady.ts [--against <checkout>] [--rounds 1] [--seconds 60] [--fresh 5000]`
 */
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startJudgeServer } from '../support/fakes/judge-server.ts';
import { verdictJudge } from '../support/fakes/verdict-judge.ts';
import { ServeFolder, type ServeAddresses } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { sendAgentTraces } from './agent-load.ts';
import { atMost, head, row, sumUp, verdictOn, type Goal } from './bench-table.ts';
import { median } from './measured-time.ts';
import { countOpenFiles, listChildren, nameEnginePart, readThreads } from './process-cpu.ts';

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '1' },
    seconds: { type: 'string', default: '60' },
    fresh: { type: 'string', default: '5000' },
  },
});
const seconds = Number(values.seconds);
const fresh = Number(values.fresh);

const TRACES_PER_SECOND = 15;
const WARM_UP_S = 15;

/** Parts of the time that are shown one by one: a cost that grows shows in them. */
const STRETCHES = 6;

/** Most time for the decisions of a start, milliseconds. */
const START_MS = 300_000;
const LOOK_EVERY_MS = 500;

const RULES = [
  { name: 'code', scorers: ['completeness', 'content-similarity'] },
  { name: 'judged', scorers: ['hallucination'], sample: { rate: 0.25 } },
];

const NODE = 'serve';

/** Small reads that production runs often. */
const SMALL_READS: Readonly<Record<string, string>> = {
  'decisions, count': 'SELECT count() FROM decisions FINAL',
  'scores, count': 'SELECT count() FROM scores FINAL',
  'decisions of 100 traces': `SELECT * FROM decisions FINAL WHERE (Tenant, TraceId) IN
    (SELECT DISTINCT Tenant, TraceId FROM trace_arrivals ORDER BY TraceId LIMIT 100)`,
  'scores, newest 50': 'SELECT * FROM scores FINAL ORDER BY ScoredAt DESC, ScoreId LIMIT 50',
  members: 'SELECT Member, max(BeatAt) FROM members WHERE empty(Duty) GROUP BY Member',
};

interface Figures {
  readonly cores: number;
  /** Cores, open files of the engine and most parts of a table, in each stretch of the time. */
  readonly stretches: string;
  /** Cores by part. */
  readonly parts: ReadonlyMap<string, number>;
  readonly rewrittenPerRow: number;
  readonly statementsPerSecond: number;
  readonly mostParts: number;
  readonly partsByTable: string;
  readonly openFiles: number;
  /** Medians of the small reads, milliseconds. */
  readonly reads: ReadonlyMap<string, number>;
  /** Time from a start to the first decision, and to all, seconds. */
  readonly firstDecisionS: number;
  readonly allDecidedS: number;
}

const judge = await startJudgeServer(verdictJudge);

/** Returns the processor time so far, by thread. */
function readTimes(pid: number, enginePid: number): Map<string, { part: string; seconds: number }> {
  const threads = [
    ...readThreads(pid).map((thread) => ({ ...thread, part: NODE })),
    ...readThreads(enginePid).map((thread) => ({
      ...thread,
      part: nameEnginePart(thread.name),
    })),
  ];
  return new Map(threads.map(({ id, part, seconds: spent }) => [id, { part, seconds: spent }]));
}

async function readEvents(store: ServeAddresses['clickhouse']) {
  const sql = `SELECT event, value FROM system.events WHERE event IN ('MergedRows', 'InsertedRows', 'Query')`;
  const rows = await queryRows<{ event: string; value: string }>(store, sql);
  const counts = new Map(rows.map(({ event, value }) => [event, Number(value)]));
  return (name: string) => counts.get(name) ?? 0;
}

async function readParts(store: ServeAddresses['clickhouse']): Promise<{ name: string; parts: number }[]> {
  const sql = `SELECT table AS name, toUInt32(count()) AS parts FROM system.parts
    WHERE active AND database = currentDatabase() GROUP BY table ORDER BY parts DESC, name`;
  return queryRows(store, sql);
}

async function timeReads(store: ServeAddresses['clickhouse']): Promise<Map<string, number>> {
  const times = new Map<string, number[]>();
  for (let round = 0; round < 15; round += 1) {
    for (const [name, sql] of Object.entries(SMALL_READS)) {
      const startedMs = performance.now();
      await queryRows(store, sql);
      times.set(name, [...(times.get(name) ?? []), performance.now() - startedMs]);
    }
  }
  return new Map([...times].map(([name, found]) => [name, median(found)]));
}

async function measureSteady({ pid, otlpHttp, clickhouse }: ServeAddresses) {
  const [enginePid = 0] = listChildren(pid);
  let times = readTimes(pid, enginePid);
  let before = await readEvents(clickhouse);
  const spent = new Map<string, number>();
  const stretches: { cores: number; files: number; parts: number }[] = [];
  const sumSpent = () => [...spent.values()].reduce((sum, each) => sum + each, 0);
  let spentBefore = 0;
  const beginMs = performance.now();
  for (let second = -WARM_UP_S; second < seconds; second += 1) {
    await sendAgentTraces(otlpHttp, TRACES_PER_SECOND);
    await sleep(Math.max(0, beginMs + (second + WARM_UP_S + 1) * 1_000 - performance.now()));
    const now = readTimes(pid, enginePid);
    if (second < 0) {
      before = second === -1 ? await readEvents(clickhouse) : before;
    } else {
      for (const [id, { part, seconds: total }] of now) {
        spent.set(part, (spent.get(part) ?? 0) + total - (times.get(id)?.seconds ?? 0));
      }
    }
    times = now;
    if (second > 0 && (second + 1) % Math.ceil(seconds / STRETCHES) === 0) {
      const [most] = await readParts(clickhouse);
      const cores = ((sumSpent() - spentBefore) * STRETCHES) / seconds;
      stretches.push({ cores, files: countOpenFiles(enginePid), parts: most?.parts ?? 0 });
      spentBefore = sumSpent();
    }
  }
  const after = await readEvents(clickhouse);
  const grown = (name: string) => after(name) - before(name);
  const parts = await readParts(clickhouse);
  return {
    cores: sumSpent() / seconds,
    stretches: stretches
      .map(({ cores, files, parts: most }) => `${cores.toFixed(2)} (${files} files, ${most} parts)`)
      .join(', '),
    parts: new Map([...spent].map(([part, each]) => [part, each / seconds])),
    rewrittenPerRow: grown('MergedRows') / grown('InsertedRows'),
    statementsPerSecond: grown('Query') / seconds,
    mostParts: parts[0]?.parts ?? 0,
    partsByTable: parts.map(({ name, parts: count }) => `${name} ${count}`).join(', '),
    openFiles: countOpenFiles(enginePid),
    reads: await timeReads(clickhouse),
  };
}

/** Kills `serve` while traces still wait for their end, and measures the next start. */
async function measureStart(folder: ServeFolder) {
  folder.configure({ ...CONFIG, readiness: { decisionWait: '2m', maxWait: '4m' } });
  const before = await folder.start();
  await sendAgentTraces(before.otlpHttp, fresh);
  const decidedBefore = await countDecided(before.clickhouse);
  await folder.killGroup();
  folder.configure(CONFIG);
  const { clickhouse } = await folder.start();
  const readyMs = performance.now();
  /** Waits for so many decided traces. Returns the time since `serve` was ready, seconds. */
  const passed = async (traces: number) => {
    while (
      (await countDecided(clickhouse)) - decidedBefore < traces &&
      performance.now() - readyMs < START_MS
    ) {
      await sleep(LOOK_EVERY_MS);
    }
    return (performance.now() - readyMs) / 1_000;
  };
  return { firstDecisionS: await passed(1), allDecidedS: await passed(fresh) };
}

async function countDecided(store: ServeAddresses['clickhouse']): Promise<number> {
  const sql = `SELECT toString(uniqExactIf(TraceId, Rule = 'code' AND Scorer = 'completeness')) AS traces FROM decisions`;
  return Number((await queryRows<{ traces: string }>(store, sql))[0]?.traces);
}

const CONFIG = {
  judges: { default: 'local/judge', providers: { local: { baseURL: judge.baseUrl, concurrency: 32 } } },
  rules: RULES,
  log: { level: 'error' },
};

async function measureSide(cli: string | undefined): Promise<Figures> {
  const folder = new ServeFolder(CONFIG, [], cli);
  try {
    const steady = await measureSteady(await folder.start());
    await folder.stop();
    return { ...steady, ...(await measureStart(folder)) };
  } finally {
    await folder.dispose();
  }
}

const sides: { name: string; cli: string | undefined; found: Figures[] }[] = [
  { name: 'this checkout', cli: undefined, found: [] },
  ...(values.against === undefined
    ? []
    : [{ name: 'the other', cli: join(values.against, 'src/cli/main.ts'), found: [] }]),
];
console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
for (let round = 0; round < Number(values.rounds); round += 1) {
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
    side.found.push(await measureSide(side.cli));
  }
}

function tell(name: string, read: (figures: Figures) => number, judgeFigure?: (value: number) => Goal): void {
  const found = sides.map((side) => median(side.found.map(read)));
  const goals = judgeFigure === undefined ? [] : [judgeFigure(found[0] ?? Number.NaN)];
  row(name, ...found, verdictOn(name, goals));
}

head(`Steady load of ${seconds} s, and a start`, 'figure', ...sides.map(({ name }) => name), 'goal');
tell(
  'cores, all processes',
  ({ cores }) => cores,
  (value) => atMost(value, 0.2, 'cores'),
);
for (const part of new Set(sides.flatMap(({ found }) => found.flatMap(({ parts }) => [...parts.keys()])))) {
  tell(`… ${part}`, ({ parts }) => parts.get(part) ?? 0);
}
tell(
  'rows rewritten per row inserted',
  ({ rewrittenPerRow }) => rewrittenPerRow,
  (value) => atMost(value, 5, 'rows'),
);
tell('statements a second', ({ statementsPerSecond }) => statementsPerSecond);
tell('most parts of a table', ({ mostParts }) => mostParts);
tell('open files of the engine', ({ openFiles }) => openFiles);
for (const name of Object.keys(SMALL_READS)) {
  tell(`read: ${name}, ms`, ({ reads }) => reads.get(name) ?? Number.NaN);
}
tell(
  `start on ${fresh} fresh traces: first decision, s`,
  ({ firstDecisionS }) => firstDecisionS,
  (value) => atMost(value, 5, 's'),
);
tell(
  '… all decided, s',
  ({ allDecidedS }) => allDecidedS,
  (value) => atMost(value, 60, 's'),
);
sides.forEach(({ name, found }) =>
  console.log(`\nCores over the time, ${name}: ${found.at(-1)?.stretches ?? ''}`),
);
sides.forEach(({ name, found }) => console.log(`Parts of ${name}: ${found.at(-1)?.partsByTable ?? ''}`));
sumUp();
await judge.close();

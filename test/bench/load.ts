/**
 * Scoring under load, of this checkout and of another one in turns: judged scores a second in a flood, with a judge that takes
 * 200 ms and 32 places; and processor time of all processes under a steady load, with two code scorers on every trace and a judged
 * one on a quarter. `node test/bench/load.ts [--against <checkout>] [--rounds 3] [--flood 1000] [--seconds 40]`
 */
import { availableParallelism, loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startJudgeServer } from '../support/fakes/judge-server.ts';
import { verdictJudge } from '../support/fakes/verdict-judge.ts';
import { ServeFolder } from '../support/processes/serve-process.ts';
import { queryRows } from '../support/store/clickhouse-query.ts';
import { sendAgentTraces } from './agent-load.ts';
import { median } from './measured-time.ts';
import { readCpuSeconds } from './process-cpu.ts';

const { values } = parseArgs({
  options: {
    against: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    flood: { type: 'string', default: '1000' },
    seconds: { type: 'string', default: '40' },
  },
});
const rounds = Number(values.rounds);
const flood = Number(values.flood);
const seconds = Number(values.seconds);

const JUDGE_MS = 200;
const PLACES = 32;
const STEADY_PER_SECOND = 15;

const judge = await startJudgeServer(async (request) => {
  const reply = await verdictJudge(request);
  return reply.kind === 'text' ? { ...reply, delayMs: JUDGE_MS } : reply;
});

interface Figures {
  readonly judgedPerSecond: number;
  /** Processor time of `serve` and its engine, seconds a judged score. */
  readonly floodCpuPerScore: number;
  /** Processors that `serve` and its engine keep busy. */
  readonly steadyCores: number;
}

function buildFolder(cli: string | undefined, rules: readonly unknown[]): ServeFolder {
  return new ServeFolder(
    {
      judges: {
        default: 'local/judge',
        providers: { local: { baseURL: judge.baseUrl, concurrency: PLACES } },
      },
      rules,
      log: { level: 'error' },
    },
    [],
    cli,
  );
}

async function withServe<T>(
  cli: string | undefined,
  rules: readonly unknown[],
  measure: (serve: { otlpHttp: string; cpu: () => number; scored: () => Promise<number> }) => Promise<T>,
): Promise<T> {
  const folder = buildFolder(cli, rules);
  try {
    const { pid, otlpHttp, clickhouse } = await folder.start();
    const scored = async () => {
      const sql = `SELECT toString(count()) AS n FROM decisions FINAL WHERE Scorer = 'hallucination' AND Status = 'scored'`;
      return Number((await queryRows<{ n: string }>(clickhouse, sql))[0]?.n);
    };
    return await measure({ otlpHttp, scored, cpu: () => readCpuSeconds(pid) });
  } finally {
    await folder.dispose();
  }
}

async function measureFlood(cli: string | undefined) {
  return withServe(cli, [{ name: 'all', scorers: ['hallucination'] }], async ({ otlpHttp, cpu, scored }) => {
    const cpuBefore = cpu();
    const startedMs = performance.now();
    await sendAgentTraces(otlpHttp, flood);
    while ((await scored()) < flood) {
      await sleep(1_000);
    }
    const passed = (performance.now() - startedMs) / 1_000;
    return { judgedPerSecond: flood / passed, floodCpuPerScore: (cpu() - cpuBefore) / flood };
  });
}

async function measureSteady(cli: string | undefined): Promise<number> {
  const rules = [
    { name: 'code', scorers: ['completeness', 'content-similarity'] },
    { name: 'judged', scorers: ['hallucination'], sample: { rate: 0.25 } },
  ];
  return withServe(cli, rules, async ({ otlpHttp, cpu }) => {
    const beginMs = performance.now();
    let cpuBefore = 0;
    for (let second = -10; second < seconds; second += 1) {
      if (second === 0) {
        cpuBefore = cpu();
      }
      await sendAgentTraces(otlpHttp, STEADY_PER_SECOND);
      await sleep(Math.max(0, beginMs + (second + 11) * 1_000 - performance.now()));
    }
    return (cpu() - cpuBefore) / seconds;
  });
}

async function measureSide(cli: string | undefined): Promise<Figures> {
  return { ...(await measureFlood(cli)), steadyCores: await measureSteady(cli) };
}

const sides: { name: string; cli: string | undefined; found: Figures[] }[] = [
  { name: 'this checkout', cli: undefined, found: [] },
  ...(values.against === undefined
    ? []
    : [{ name: values.against, cli: join(values.against, 'src/cli/main.ts'), found: [] }]),
];
console.log(`${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)} before`);
for (let round = 0; round < rounds; round += 1) {
  for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
    const figures = await measureSide(side.cli);
    side.found.push(figures);
    console.log(
      `${side.name}: ${figures.judgedPerSecond.toFixed(1)} judged/s, ${(figures.floodCpuPerScore * 1_000).toFixed(1)} ms of processor a score; steady ${figures.steadyCores.toFixed(2)} cores`,
    );
  }
}
const [ours, other] = sides.map(({ found }) => ({
  judgedPerSecond: median(found.map((each) => each.judgedPerSecond)),
  floodCpuPerScore: median(found.map((each) => each.floodCpuPerScore)),
  steadyCores: median(found.map((each) => each.steadyCores)),
}));
if (ours !== undefined && other !== undefined) {
  for (const key of ['judgedPerSecond', 'floodCpuPerScore', 'steadyCores'] as const) {
    console.log(`${key}: ratio ${(ours[key] / other[key]).toFixed(2)} (this ÷ other, medians)`);
  }
}
await judge.close();

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openServedStore } from '../../store/connection/connect-store.ts';
import { decisionJson, scoreJson } from '../../api/json/rows.ts';
import type { ConfigInput } from '../../configuration.ts';
import type { Decision } from '../../domain/decision.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { AppError } from '../../domain/errors.ts';
import { startKeptDemo, KEPT_FOLDER } from '../demo/kept-demo.ts';
import { MADE_TRACES } from '../demo/made-traces.ts';
import type { AgentScenarioRun } from '../demo/run-demo.ts';
import { DEMO_JUDGE_MODEL, isDecided, SCORERS, startScriptedModel } from '../demo/scripted-agent.ts';
import type { Score } from '../../domain/score.ts';
import { joinTraceKey, type TraceKey } from '../../store/contracts/stores.ts';
import { readEnvironment } from '../../config/environment.ts';
import { cleanLine } from '../show/clean-text.ts';
import { dashboardUrl } from '../show/dashboard-address.ts';
import { isDashboardBuilt } from '../../process/package.ts';
import { openBrowser } from './open.ts';
import { withExamples, type CommandContext, type RegisterCommand } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Store } from '../../store/store.ts';
import { sleep } from '../../domain/waits.ts';

const POLL_EVERY_MS = 200;
/** Deadline of the demonstration. Scoring takes a few seconds; beyond this something else is wrong. */
const DEADLINE_MS = 90_000;
/** Time that the page stays where nobody can press Ctrl-C: in CI, or without a terminal. */
const UNATTENDED_MS = 30_000;
/** Time that it stays on a terminal: near the longest that a timer has. */
const ATTENDED_MS = 24 * DAY_MS;

export const registerDemo: RegisterCommand = (program, bind) => {
  withExamples(program.command('demo'), [
    ['score four traces, and show them until Ctrl-C', 'spanscore demo'],
    ['as JSON lines; ends when all is scored', 'spanscore demo --json'],
    ['400 traces of two weeks, an incident, and the dashboard on them', 'spanscore demo --keep'],
  ])
    .option(
      '--keep',
      `fill ${KEPT_FOLDER} in this folder with 400 made traces of three agents, and serve it until Ctrl-C; a further run serves it again`,
    )
    .action(bind(demo, { stopsItself: true }));
};

/** Runs everything on loopback and on free ports. Removes the stored data at the end, unless it is to be kept. */
async function demo(
  context: CommandContext,
  { keep = false }: { readonly keep?: boolean },
): Promise<ExitCode> {
  return keep ? keepDemo(context) : showDemo(context);
}

/** Serves the made traces until a signal. The judge of the demonstration stays with them. */
async function keepDemo(context: CommandContext): Promise<ExitCode> {
  const { out, cwd, log, signal } = context;
  const dataDir = join(cwd, KEPT_FOLDER);
  const model = await startScriptedModel();
  try {
    const talk = (message: string) => out.talk(message);
    const serve = await startKeptDemo({ dataDir, modelUrl: model.url, log, signal, talk });
    try {
      const url = dashboardUrl(serve.addresses.api ?? '', undefined);
      await out.item(
        { event: 'ready', url, dataDir, traces: MADE_TRACES },
        () => `The dashboard (Ctrl-C ends it):\n  ${url}`,
      );
      if (!out.json && isAttended() && isDashboardBuilt()) {
        await openBrowser(url, context);
      }
      await Promise.race([sleep(ATTENDED_MS, signal), serve.lost]);
      return signal.aborted && signal.reason !== 'SIGINT' ? EXIT.done : EXIT.interrupted;
    } finally {
      await serve.stop();
    }
  } finally {
    await model.close();
  }
}

async function showDemo(context: CommandContext): Promise<ExitCode> {
  const folder = await mkdtemp(join(tmpdir(), 'spanscore-demo-'));
  const { runAgentScenarios } = await import('../demo/run-demo.ts');
  const { startServe } = await import('../../serve.ts');
  const model = await startScriptedModel();
  try {
    context.out.talk('starting spanscore with an embedded ClickHouse');
    const config = demoConfig(folder, model.url, DEMO_JUDGE_MODEL);
    const serve = await startServe(config, { log: context.log });
    try {
      const { clickhouse, otlpHttp } = serve.addresses;
      const store = await openServedStore(clickhouse);
      try {
        context.out.talk('running a weather agent: four questions, real spans over OTLP');
        const runs = await runAgentScenarios({ otlpUrl: otlpHttp ?? '', modelUrl: model.url });
        for (const run of runs) {
          await context.out.text(
            `\n${run.scenario} (trace ${run.traceId})\n  user  ${run.question}\n  agent ${run.answer}`,
          );
        }
        context.out.talk('\nscores, as they arrive:');
        const code = await watch(context, store, runs);
        await showPage(context, serve.addresses.api);
        return code;
      } finally {
        await store.close();
      }
    } finally {
      await serve.stop();
    }
  } finally {
    await model.close();
    await rm(folder, { recursive: true, force: true });
  }
}

/** Prints the address of the dashboard and keeps it until Ctrl-C. Ends at once with `--json`. */
async function showPage({ out, signal }: CommandContext, api: string | null): Promise<void> {
  if (out.json || api === null || signal.aborted) {
    return;
  }
  const isWatched = isAttended();
  const end = isWatched ? 'Ctrl-C ends the demo' : `the demo ends in ${UNATTENDED_MS / 1000} s`;
  await out.text(`\nThese four runs in the dashboard (${end}):\n  ${dashboardUrl(api, undefined)}`);
  await sleep(isWatched ? ATTENDED_MS : UNATTENDED_MS, signal);
}

/** Returns true on a terminal of a person. */
function isAttended(): boolean {
  return (process.stdin.isTTY || process.stdout.isTTY) && readEnvironment('CI') === undefined;
}

function demoConfig(folder: string, modelUrl: string, judge: string): ConfigInput {
  return {
    store: { dataDir: folder },
    receivers: { otlp: { http: { endpoint: '127.0.0.1:0' }, grpc: { endpoint: '127.0.0.1:0' } } },
    api: { endpoint: '127.0.0.1:0' },
    readiness: { decisionWait: '500ms', maxWait: '30s' },
    judges: { default: `demo/${judge}`, providers: { demo: { baseURL: modelUrl, apiKey: 'demo' } } },
    rules: [{ name: 'demo', scorers: SCORERS }],
  };
}

/** Prints scores until every scorer has a final decision on every trace. */
async function watch(
  context: CommandContext,
  store: Store,
  runs: readonly AgentScenarioRun[],
): Promise<ExitCode> {
  const keys = runs.map((run) => ({ tenant: '', traceId: run.traceId }));
  const findScenarioName = (traceId: string) =>
    runs.find((run) => run.traceId === traceId)?.scenario ?? traceId;
  const printed = new Set<string>();
  const deadline = performance.now() + DEADLINE_MS;
  while (!context.signal.aborted) {
    const decisions = await store.decisions.ofTraces(keys);
    const scores = await store.scores.ofTraces(keys);
    for (const score of [...scores.values()].flat()) {
      if (!printed.has(score.scoreId)) {
        printed.add(score.scoreId);
        const show = () => showScore(findScenarioName(score.traceId), score);
        await (context.out.json || isInStory(score) ? context.out.item(scoreJson(score), show) : undefined);
      }
    }
    if (keys.every((key) => isDecided(decisions.get(joinTraceKey(key)) ?? []))) {
      return finish(context, keys, decisions, findScenarioName);
    }
    if (performance.now() > deadline) {
      throw notInTimeError([...decisions.values()].flat());
    }
    await sleep(POLL_EVERY_MS, context.signal);
  }
  return EXIT.interrupted;
}

async function finish(
  context: CommandContext,
  keys: readonly TraceKey[],
  decisions: ReadonlyMap<string, Decision[]>,
  findScenarioName: (traceId: string) => string,
): Promise<ExitCode> {
  const rest = keys
    .flatMap((key) => decisions.get(joinTraceKey(key)) ?? [])
    .filter((decision) => decision.status !== 'scored');
  await context.out.text(rest.length === 0 ? '' : '\nnot scored, each for a reason:');
  for (const decision of rest) {
    await context.out.text(showDecision(findScenarioName(decision.traceId), decision));
  }
  context.out.talk(NEXT_STEPS);
  return rest.some((decision) => decision.status === 'failed') ? EXIT.someFailed : EXIT.done;
}

function notInTimeError(decisions: readonly Decision[]): AppError {
  const open = decisions
    .filter((decision) => decision.status === 'deferred')
    .map((decision) => decisionJson(decision, Date.now()));
  const reasons = open.map((row) => `${row.scorer}: ${row.reason}`).join('; ');
  return new AppError(
    `not everything was scored within ${DEADLINE_MS / 1000} s${reasons === '' ? '' : ` (${reasons})`}: run with --verbose`,
    { code: 'scorer_failed', stage: 'judge', retryable: true },
  );
}

/** Measures of the demonstration's story; `--json` prints all rows. */
const STORY = new Set(['answered', 'tool-errors', 'repeats'].map((measure) => `behaviour-${measure}`));

function isInStory({ scorer }: Score): boolean {
  return STORY.has(scorer) || !scorer.startsWith('behaviour-');
}

function showScore(scenario: string, score: Score): string {
  const value = Number.isInteger(score.score) ? String(score.score) : score.score.toFixed(2);
  const reason = score.reason === '' ? '' : `  ${cleanLine(score.reason, 300)}`;
  const found = score.verdicts
    .filter((verdict) => verdict.verdict === 'yes' && score.scorer === 'hallucination')
    .map((verdict) => `\n      claim not backed by the tools: "${cleanLine(verdict.statement)}"`);
  return `  ${scenario.padEnd(14)} ${score.scorer.padEnd(21)} ${value.padEnd(5)}${reason}${found.join('')}`;
}

function showDecision(scenario: string, decision: Decision): string {
  return `  ${scenario.padEnd(14)} ${decision.scorer.padEnd(21)} ${decision.status}: ${cleanLine(decision.reason, 200)}`;
}

const NEXT_STEPS = `
Now your own agent:
  1. npx spanscore serve                                      (with a judge: SPANSCORE_JUDGE=openai/gpt-5-mini npx spanscore serve)
  2. in the shell of the agent:
       export OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318
       export OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf
  3. npx spanscore scores --follow
Programs to start from, for five frameworks: docs/quickstarts in the package.`;

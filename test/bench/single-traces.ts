import { setTimeout as sleep } from 'node:timers/promises';
import { anAgentTrace } from '../support/builders/agent-trace.ts';
import {
  replyDecisions,
  replyText,
  startJudgeServer,
  type JudgeServer,
} from '../support/fakes/judge-server.ts';
import { sendTraces, type ServeAddresses } from '../support/processes/serve-process.ts';
import { median } from './measured-time.ts';
import { answerSchema, type Schema } from './schema-judge.ts';

/** Longest wait for the question of the judge after the last trace, milliseconds. */
const MOST_WAIT_MS = 120_000;

/** Judge that notes when it was asked about each trace. */
export interface TimedJudge extends JudgeServer {
  /** Times of `performance.now` by trace id, for answers that name the trace as `warm in <id>`. */
  readonly askedAtMs: ReadonlyMap<string, number>;
}

/** Starts a judge that answers after a time. */
export async function startTimedJudge(judgeMs: number): Promise<TimedJudge> {
  const askedAtMs = new Map<string, number>();
  const judge = await startJudgeServer(async (request) => {
    const { body } = request;
    const isDecision = body['questions'] !== undefined;
    const prompt = isDecision ? JSON.stringify(body) : request.prompt;
    const traceId = /warm in ([0-9a-f]{32})/u.exec(prompt)?.[1];
    if (traceId !== undefined) {
      askedAtMs.set(traceId, performance.now());
    }
    if (isDecision) {
      await sleep(judgeMs);
      return replyDecisions(request, ({ choices: [first] }) => ({ [first?.value ?? '']: 1 }));
    }
    const schema = body.response_format?.json_schema?.schema as Schema | undefined;
    const text = schema === undefined ? 'so it is' : answerSchema(schema, prompt);
    return { ...replyText(text), delayMs: judgeMs };
  });
  return { ...judge, askedAtMs };
}

export interface SingleTraces {
  readonly count: number;
  readonly decisionWaitMs: number;
  /** Pause after each trace by its number, milliseconds. */
  readonly pauseMs: (index: number) => number;
}

/** Times in milliseconds; infinite when a trace was not asked about. */
export interface Latency {
  readonly median: number;
  readonly p99: number;
}

/** Sends single traces and measures the time from the end of their decision wait to the question of the judge. */
export async function measureSingles(
  { otlpHttp }: ServeAddresses,
  { askedAtMs }: TimedJudge,
  { count, decisionWaitMs, pauseMs }: SingleTraces,
): Promise<Latency> {
  const sentAtMs = new Map<string, number>();
  for (let index = 0; index < count; index += 1) {
    const trace = anAgentTrace();
    await sendTraces(otlpHttp, trace.answering(`It is warm in ${trace.traceId}.`).request());
    sentAtMs.set(trace.traceId, performance.now());
    await sleep(pauseMs(index));
  }
  const deadlineMs = performance.now() + MOST_WAIT_MS;
  const isOpen = () => [...sentAtMs.keys()].some((traceId) => !askedAtMs.has(traceId));
  while (isOpen() && performance.now() < deadlineMs) {
    await sleep(200);
  }
  const waits = [...sentAtMs].map(
    ([traceId, sentMs]) => (askedAtMs.get(traceId) ?? Infinity) - sentMs - decisionWaitMs,
  );
  const sorted = waits.toSorted((a, b) => a - b);
  return { median: median(waits), p99: sorted[Math.ceil(0.99 * sorted.length) - 1] ?? Infinity };
}

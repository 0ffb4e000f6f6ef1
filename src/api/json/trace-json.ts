import type { StatusCounts } from '../../domain/decision.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import type { ListedTrace } from '../../store/contracts/lists.ts';
import { isoTime } from './time-json.ts';

/** States of a trace: `partly` has scores, and decisions that failed or wait for another attempt. */
export const TRACE_STATES = ['waiting', 'scored', 'partly', 'not_scored'] as const;
export type TraceState = (typeof TRACE_STATES)[number];

/** Derives the state of a trace from its current decisions and its number of scores. */
export function deriveState(
  { scored = 0, deferred = 0, failed = 0, ...others }: StatusCounts,
  scores: number,
): TraceState {
  if (scored > 0 || scores > 0) {
    return deferred > 0 || failed > 0 ? 'partly' : 'scored';
  }
  const isDecided = failed > 0 || Object.keys(others).length > 0;
  return deferred > 0 || !isDecided ? 'waiting' : 'not_scored';
}

/** Formats a trace of a list as JSON; times in ISO 8601. Facts that are not known are null. */
export function traceJson({ tenant, traceId, startedAtMs, run, decisions, scores }: ListedTrace) {
  return {
    tenant,
    traceId,
    ...(run === null ? { ...NO_RUN, startedAt: isoTime(startedAtMs) } : runJson(run)),
    scores,
    decisions,
    state: deriveState(decisions, scores.length),
  };
}

function runJson(run: RunRecord) {
  const { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens } = run;
  return {
    spanId: run.spanId || null,
    sessionId: run.sessionId || null,
    userId: run.userId || null,
    agent: run.agent || null,
    agentVersion: run.agentVersion || null,
    service: run.serviceName || null,
    serviceVersion: run.serviceVersion || null,
    environment: run.environment || null,
    startedAt: isoTime(run.startedAt),
    endedAt: isoTime(run.startedAt + run.durationMs),
    durationMs: run.durationMs,
    status: run.status || null,
    errorType: run.errorType || null,
    models: run.models,
    usage: { inputTokens, outputTokens, totalTokens, reasoningTokens, cachedInputTokens },
    costUsd: run.costUsd,
    toolCalls: run.toolCalls,
    toolErrors: run.toolErrors,
  };
}

const NO_RUN = {
  spanId: null,
  sessionId: null,
  userId: null,
  agent: null,
  agentVersion: null,
  service: null,
  serviceVersion: null,
  environment: null,
  endedAt: null,
  durationMs: null,
  status: null,
  errorType: null,
  models: [] as readonly string[],
  usage: {
    inputTokens: null,
    outputTokens: null,
    totalTokens: null,
    reasoningTokens: null,
    cachedInputTokens: null,
  },
  costUsd: null,
  toolCalls: null,
  toolErrors: null,
};

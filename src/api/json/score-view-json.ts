import type { JudgeCallRecord } from '../../store/contracts/stores.ts';
import type { ScoreView } from '../reads/scores.ts';
import { scoreJson } from './score-json.ts';
import { isoTime } from './time-json.ts';

/** Formats a score with the places of its quotes and the calls of its judge. */
export function scoreViewJson({ score, places, judgeCalls }: ScoreView) {
  return {
    ...scoreJson(score),
    verdicts: score.verdicts.map((verdict, index) => ({
      ...verdict,
      quote: verdict.quote ?? null,
      ...(places[index] ?? NOWHERE),
    })),
    judgeCalls: judgeCalls.map(callJson),
  };
}

const NOWHERE = { spanId: null, messageIndex: null, partIndex: null, start: null, end: null };

function callJson({
  step,
  status,
  model,
  prompt,
  reply,
  error,
  durationMs,
  calledAtMs,
  ...rest
}: JudgeCallRecord) {
  const { inputTokens, outputTokens, costUsd } = rest;
  return {
    step,
    status,
    model,
    prompt,
    reply,
    error,
    inputTokens,
    outputTokens,
    costUsd,
    latencyMs: durationMs,
    calledAt: isoTime(calledAtMs),
  };
}

import { addUsage, type JudgeExecution, type JudgeUsage } from '../judge-execution.ts';
import type { ResolvedJudge } from '../judge-registry.ts';
import type { ModelReply } from '../model-call.ts';

/** Calls, tokens and cost of one question so far. */
export interface QuestionTally {
  /** Milliseconds left for the question; waits for the provider's limits do not count. */
  remainingMs: number;
  /** Text of the last answer; undefined before the first. */
  lastText: string | undefined;
  spendTime(ms: number): void;
  /** Counts a call. A failed call has no reply, so its usage is unknown. */
  countCall(reply?: ModelReply, cost?: number): void;
  execution(
    status: JudgeExecution['status'],
    prompt: string,
    attemptCount: number,
    more?: Partial<JudgeExecution>,
  ): JudgeExecution;
}

export function createQuestionTally(judge: ResolvedJudge, timeoutMs: number): QuestionTally {
  const started = performance.now();
  let usage: JudgeUsage | undefined;
  let costs: (number | undefined)[] = [];
  let answers = 0;
  let answeredBy: string | undefined;

  const tally: QuestionTally = {
    remainingMs: timeoutMs,
    lastText: undefined,
    spendTime(ms) {
      tally.remainingMs -= ms;
    },
    countCall(reply, cost) {
      if (reply !== undefined) {
        answers += 1;
        tally.lastText = reply.text;
        usage = addUsage(usage, reply.usage);
        costs = [...costs, cost];
        answeredBy = reply.modelId ?? answeredBy;
      }
    },
    execution(status, prompt, attemptCount, more = {}) {
      const cost = sumCosts(costs);
      return {
        status,
        prompt,
        judgeModelId: answeredBy ?? judge.model.modelId,
        judgeProvider: judge.provider,
        ...(usage === undefined ? {} : { usage }),
        attemptCount,
        modelCallCount: answers,
        durationMs: performance.now() - started,
        ...(cost === undefined ? {} : { cost }),
        ...more,
      };
    },
  };
  return tally;
}

/** Sums the costs; undefined as soon as one of them is unknown, because a sum of the known costs would look like the whole. */
function sumCosts(costs: readonly (number | undefined)[]): number | undefined {
  let total = 0;
  for (const cost of costs) {
    if (cost === undefined) {
      return undefined;
    }
    total += cost;
  }
  return costs.length === 0 ? undefined : total;
}

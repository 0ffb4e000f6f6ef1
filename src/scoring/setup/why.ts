import { createWhyScorer } from '../../components.ts';
import { COMMAND_RULE } from '../../domain/decision.ts';
import { RequestError } from '../../domain/errors.ts';
import { findJudgeFault, type JudgeChoices } from '../../domain/judge-kinds.ts';
import { listUnexplained, type Score } from '../../domain/score.ts';
import type { JudgeCall } from '../../judge/judge-execution.ts';
import { recordCalls } from '../record/record-attempt.ts';
import { scoreTraces } from '../score-traces.ts';
import type { Scoring } from '../scoring.ts';
import { apiMode } from '../scoring-mode.ts';
import { prepareRule } from '../select/rule.ts';
import type { TraceOutcome } from '../trace-task.ts';

/**
 * Lets a chat judge word the reasons of verdicts on a trace that were given without words, as the scorer `why`. Its calls are stored with
 * those for the score, and count in the budgets; the words are not. Throws a `RequestError` for a score without such verdicts, and without a chat judge.
 */
export async function findWhy(
  scoring: Scoring,
  score: Pick<Score, 'scoreId' | 'tenant' | 'traceId' | 'target' | 'verdicts' | 'judgeModel' | 'label'>,
  { judge, choices }: { readonly judge: string | undefined; readonly choices: JudgeChoices },
): Promise<TraceOutcome> {
  const findings = listUnexplained(score);
  if (findings.length === 0 || score.target !== 'trace') {
    throw new RequestError(
      `the score ${score.scoreId} has no verdict without a reason on a trace: its reasons are stored, or nothing failed`,
    );
  }
  const fault = findJudgeFault('why', { needsJudge: true }, judge, choices);
  if (fault !== undefined) {
    throw new RequestError(`${fault}: name a chat judge`);
  }
  const scorer = await createWhyScorer(judge ?? '', findings);
  const rule = prepareRule({
    name: COMMAND_RULE,
    scorers: [{ name: 'why', scorer }],
    target: 'trace',
    sample: { rate: 1, always: [] },
  });
  const key = { tenant: score.tenant, traceId: score.traceId };
  const calls: JudgeCall[] = [];
  const noting: Scoring = {
    ...scoring,
    judgeScope: { ...scoring.judgeScope, onCall: (call) => void calls.push(call) },
  };
  const [outcome] = await scoreTraces(noting, [key], apiMode([rule], { write: false }));
  if (!scoring.purged.has(key)) {
    await recordCalls(scoring, { ...key, scoreId: score.scoreId, scorer: 'why' }, calls, COMMAND_RULE);
  }
  if (outcome === undefined || outcome.error !== null) {
    throw outcome?.error ?? new RequestError(`trace ${score.traceId} is not in the store`);
  }
  return outcome;
}

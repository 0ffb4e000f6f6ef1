import { createWhyScorer } from '../../components.ts';
import { COMMAND_RULE } from '../../domain/decision.ts';
import { RequestError } from '../../domain/errors.ts';
import { findJudgeFault, type JudgeChoices } from '../../domain/judge-kinds.ts';
import { BAD_VERDICTS, type Score, type Verdict } from '../../domain/score.ts';
import { scoreTraces } from '../score-traces.ts';
import type { Scoring } from '../scoring.ts';
import { apiMode } from '../scoring-mode.ts';
import { prepareRule } from '../select/rule.ts';
import type { TraceOutcome } from '../trace-task.ts';

/** Lists the verdicts of a judge that speak against the answer without a reason; for an own judge, its answer. */
export function listUnexplained({
  verdicts,
  judgeModel,
  label,
}: Pick<Score, 'verdicts' | 'judgeModel' | 'label'>): Verdict[] {
  if (judgeModel === '') {
    return [];
  }
  const silent = verdicts.filter(({ reason = '' }) => reason === '');
  const bad = silent.filter(({ verdict }) => BAD_VERDICTS.has(verdict));
  return bad.length > 0 ? bad : silent.filter(({ verdict }) => verdict === label);
}

/**
 * Lets a chat judge word the reasons of verdicts on a trace that were given without words, as the scorer `why`. Nothing is stored, and the
 * cost counts in the budgets. Throws a `RequestError` for a score without such verdicts, and without a chat judge.
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
  const [outcome] = await scoreTraces(scoring, [key], apiMode([rule], { write: false }));
  if (outcome === undefined || outcome.error !== null) {
    throw outcome?.error ?? new RequestError(`trace ${score.traceId} is not in the store`);
  }
  return outcome;
}

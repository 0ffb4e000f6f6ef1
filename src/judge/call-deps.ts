import type { JudgeRegistry, ResolvedJudge } from './judge-registry.ts';
import type { JudgeScope } from './judge-scope.ts';
import type { QuestionTally } from './limits/question-tally.ts';
import type { ModelCall } from './model-call.ts';

/** Needs of one call to a judge. */
export interface JudgeCallDeps {
  readonly judge: ResolvedJudge;
  readonly registry: JudgeRegistry;
  readonly scope: JudgeScope;
  readonly tally: QuestionTally;
  /** Aborts when the caller stops waiting. */
  readonly signal: AbortSignal;
  /** Name of the scorer step, for the record of the call. */
  readonly step: string;
}

export type JudgeCallRequest = Omit<ModelCall, 'signal'>;

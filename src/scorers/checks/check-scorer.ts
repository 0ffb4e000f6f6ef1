import { createScorer } from '../../evals/create-scorer.ts';
import type { RunnableScorer } from '../../evals/scorer-chain.ts';
import { checkGiven, checkOptions } from '../prebuilt/shared/checked-options.ts';
import type { OptionRules } from '../prebuilt/shared/checked-options.ts';
import type { AgentRunInput } from '../utils/agent-run-input.ts';
/** A scorer that checks one run without a judge. */
export type CheckScorer<T> = RunnableScorer<AgentRunInput, { preprocessStepResult: T }>;

export interface CheckSpec<T> {
  /** Id without the prefix `check-`. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Options with their defaults: part of the fingerprint. */
  readonly options: object;
  /** Options as the user gave them. */
  readonly given: object;
  readonly rules: OptionRules;
  /** Version of the check; default `1`. */
  readonly version?: string;
  /** Facts of a run that the check needs. */
  readonly needs?: readonly string[];
  look(run: AgentRunInput): T;
  /** Computes the score: 1 for passed and 0 for failed, unless the check measures something. */
  score(found: T): number;
  /** Describes the finding in a sentence. */
  reason(found: T, run: AgentRunInput): string;
}

/** Creates a check: it examines the run, and returns its finding and a score. Throws `ScorerError` for invalid options. */
export function createCheck<T>(spec: CheckSpec<T>): CheckScorer<T> {
  const id = `check-${spec.id}`;
  checkOptions(id, spec.given, spec.rules);
  checkGiven(id, spec.given, spec.needs ?? []);
  return createScorer({
    id,
    name: `${spec.name} Check`,
    description: spec.description,
    type: 'agent',
    higherIsBetter: true,
    range: [0, 1],
    labels: [{ label: 'fail', below: 1 }, { label: 'pass' }],
    version: spec.version ?? '1',
    options: spec.options,
  })
    .preprocess(({ run }) => spec.look(run))
    .generateScore(({ results }) => spec.score(results.preprocessStepResult as T))
    .generateReason(({ results, run }) => spec.reason(results.preprocessStepResult, run));
}

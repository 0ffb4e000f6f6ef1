export type {
  AgentInput as ScorerRunInputForAgent,
  AgentOutput as ScorerRunOutputForAgent,
} from '../domain/trace/messages.ts';
export { createScorer } from './create-scorer.ts';
export type { InputOf, OutputOf, ScorerConfig, ScorerType } from './create-scorer.ts';
export { defineScorer } from './define-scorer.ts';
export type { OwnScore, OwnScorer, TracedRun } from './define-scorer.ts';
export { extractTrajectory } from './trajectory/extract-trajectory.ts';
export { extractTrajectoryFromTrace } from './trajectory/extract-trajectory-from-trace.ts';
export type { TraceSpan } from './trajectory/extract-trajectory-from-trace.ts';
export { extractWorkflowTrajectory } from './trajectory/extract-workflow-trajectory.ts';
export type { WorkflowStepResult } from './trajectory/extract-workflow-trajectory.ts';
export { filterRun } from './filter-run.ts';
export type { FilterRunOptions } from './filter-run.ts';
export { isNotScorable, notScorable } from './not-scorable.ts';
export type { NotScorable } from './not-scorable.ts';
export type {
  AnalyzedScorer,
  NewScorer,
  PreprocessedScorer,
  RunnableScorer,
  ScoredScorer,
} from './scorer-chain.ts';
export { scoreTrace, scoreTraces } from './score-trace.ts';
export type {
  ScoreTracesResult,
  StoredTrace,
  TraceOutcome,
  TraceScoreRow,
  TraceTarget,
} from './score-trace.ts';
export { ScorerError, ScorerRunError } from './scorer-error.ts';
export type { ScorerErrorId } from './scorer-error.ts';
export type {
  FunctionStep,
  JudgeConfig,
  OutputSchema,
  PromptStep,
  ReasonContext,
  ReasonPromptStep,
  ScorePromptStep,
  StepContext,
} from './scorer-steps.ts';
export type {
  JudgeStepTelemetry,
  NamedScore,
  ReasonError,
  ScoreLabel,
  Scorer,
  ScorerMetadata,
  ScorerRunInput,
  ScorerRunOptions,
  ScorerRunResult,
  StepName,
} from './scorer.ts';
export type {
  ExpectedStep,
  StepOrdering,
  ToolCallStep,
  Trajectory,
  TrajectoryExpectation,
  TrajectoryStep,
  TrajectoryStepType,
} from './trajectory/trajectory.ts';
export type {
  AgentScorers,
  EvalAgent,
  EvalFailure,
  EvalItem,
  EvalScores,
  EvalTurn,
  EvalVerdict,
  EvalWorkflow,
  EvalWorkflowResult,
  EvalWorkflowRun,
  GateResult,
  RunEvalsConfig,
  RunEvalsResult,
  ScorerEntry,
  NamedThresholds,
  ThresholdConfig,
  ThresholdResult,
  TurnResult,
  WorkflowScorers,
} from './run-evals/eval-config.ts';
export { EvalError } from './run-evals/eval-error.ts';
export type { EvalErrorId } from './run-evals/eval-error.ts';
export { runEvals } from './run-evals/run-evals.ts';

/**
 * Public API of spanscore: starts the service from a program, and has the types of its input and output. Scorers,
 * conventions, configuration and utilities have their own entry points (`spanscore/evals`, `spanscore/scorers`, …).
 */
export { defineConfig } from './configuration.ts';
export type { Config, ConfigInput } from './configuration.ts';
export type {
  AgentRun,
  NotScorableCode,
  NotScorableReason,
  NotUnderstood,
  ReadingWarning,
  RetrievedDocument,
  TargetKind,
  TokenUsage,
  TraceReading,
} from './domain/trace/agent-run.ts';
export type { Decision, DecisionStatus, Stratum } from './domain/decision.ts';
export { AppError } from './domain/errors.ts';
export type { ErrorCode, Stage } from './domain/errors.ts';
export type {
  AgentInput,
  AgentMessage,
  AgentOutput,
  MessagePart,
  ToolInvocation,
} from './domain/trace/messages.ts';
export type { Score, ScoreSource, Verdict } from './domain/score.ts';
export { startServe } from './serve.ts';
export type { Role, Serve, ServeAddresses, ServeOptions } from './serve.ts';

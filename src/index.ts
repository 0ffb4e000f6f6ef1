/**
 * The public API of spanscore: start the service from a program, and the types of what it reads and writes. Scorers,
 * conventions, configuration and utilities have entry points of their own (`spanscore/evals`, `spanscore/scorers`, …).
 */
export { defineConfig } from './config/schema.ts';
export type { Config, ConfigInput } from './config/schema.ts';
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
} from './domain/agent-run.ts';
export type { Decision, DecisionStatus, Stratum } from './domain/decision.ts';
export { AppError } from './domain/errors.ts';
export type { ErrorCode, Stage } from './domain/errors.ts';
export type {
  AgentInput,
  AgentMessage,
  AgentOutput,
  MessagePart,
  ToolInvocation,
} from './domain/messages.ts';
export type { Score, ScoreSource, Verdict } from './domain/score.ts';
export { startServe } from './serve.ts';
export type { Role, Serve, ServeAddresses, ServeOptions } from './serve.ts';

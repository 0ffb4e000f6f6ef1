import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { RunPlan } from './run-plan.ts';
import type { Transcript } from './transcript.ts';

/** A run, with the data that its parent needs. */
export interface BuiltRun {
  plan: RunPlan;
  run: AgentRun;
  transcript: Transcript;
  conventions: Map<string, number>;
}

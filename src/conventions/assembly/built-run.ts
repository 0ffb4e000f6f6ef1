import type { AgentRun } from '../../domain/agent-run.ts';
import type { RunPlan } from './run-plan.ts';
import type { Transcript } from './transcript.ts';

/** A run with what its parent needs of it. */
export interface BuiltRun {
  plan: RunPlan;
  run: AgentRun;
  transcript: Transcript;
  conventions: Map<string, number>;
}

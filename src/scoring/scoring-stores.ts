import type { AgentPastStore } from '../store/contracts/agent-pasts.ts';
import type { RunStore } from '../store/contracts/runs.ts';
import type { SessionStore } from '../store/contracts/sessions.ts';
import type {
  DecisionStore,
  JudgeCallStore,
  RuleVersionStore,
  ScoreStore,
  SpanSource,
} from '../store/contracts/stores.ts';
import type { VersionSampleStore } from '../store/contracts/version-samples.ts';

/** Stores that scoring reads and writes. */
export interface ScoringStores {
  readonly spans: SpanSource;
  readonly decisions: DecisionStore;
  readonly scores: ScoreStore;
  readonly agentPasts: AgentPastStore;
  readonly runs: RunStore;
  readonly sessions: SessionStore;
  readonly ruleVersions: RuleVersionStore;
  readonly versionSamples: VersionSampleStore;
  readonly judgeCalls: JudgeCallStore;
}

import type { AgreementReading } from '../../domain/agreement/label-agreement.ts';
import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { LabelTarget } from '../../store/contracts/labels/label-store.ts';

/** Wish of a reviewer for targets. */
export interface LabelQueueRequest {
  readonly scorer: string;
  /** Default: the name of the token. */
  readonly reviewer?: string | undefined;
  /** Oldest start, Unix milliseconds. */
  readonly sinceMs: number;
  readonly limit: number;
}

/** Targets for a reviewer, each with its run. */
export interface LabelQueueView {
  readonly reviewer: string;
  readonly day: string;
  readonly labelled: number;
  readonly left: number;
  readonly items: readonly { readonly target: LabelTarget; readonly run: AgentRun | null }[];
}

/** Scorer and range of runs. Times are Unix milliseconds. */
export interface AgreementRequest {
  readonly scorer: string;
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** Queues of reviewers and what their labels tell, in one tenant, or in all. */
export interface LabelPorts {
  queue(request: LabelQueueRequest): Promise<LabelQueueView>;
  agreement(request: AgreementRequest): Promise<AgreementReading>;
}

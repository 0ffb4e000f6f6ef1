import type { OfferedTool, RetrievedDocument } from '../domain/trace/agent-run.ts';
import type { AgentInput, AgentOutput } from '../domain/trace/messages.ts';
import type { Verdict } from '../domain/score.ts';
import { sourceVersion } from './canonical-options.ts';
import { isNotScorable, type NotScorable } from './not-scorable.ts';
import { ScorerError } from './scorer-error.ts';
import type { NamedScore, ScoreLabel, Scorer } from './scorer.ts';

/** A run of an agent, as a rule passes it to a scorer. */
export interface TracedRun {
  /** Question to the agent: its messages, and the messages that the agent remembered. */
  readonly input: AgentInput;
  /** Answer of the agent: its messages with their tool calls. */
  readonly output: AgentOutput;
  /** Evidence: results of the agent's tools, then documents, as texts. */
  readonly context: readonly string[];
  readonly documents: readonly RetrievedDocument[];
  /** Tools that the agent's models could call; absent where the trace does not say. */
  readonly tools?: readonly OfferedTool[];
  /** Id of the score; a repeat has the same id. */
  readonly runId: string;
  readonly targetTraceId: string;
  readonly targetSpanId: string;
  /** `live`, `backfill` or `api` (`spanscore score`). */
  readonly scoreSource: string;
}

/** A score of a run. */
export interface OwnScore {
  /** A finite number. */
  readonly score: number;
  readonly reason?: string;
  /** Name of the score's band. Absent: the band comes from `labels`. */
  readonly label?: string;
  /** Findings on single statements, stored with the score. */
  readonly verdicts?: readonly Verdict[];
  /** Further scores of the same run, stored under `<scorer>/<name>`. */
  readonly scores?: readonly NamedScore[];
}

/** A scorer by code, for the default export of a module. */
export interface OwnScorer {
  readonly id: string;
  readonly description?: string;
  /** True when a high score is good; monitors need this. */
  readonly higherIsBetter?: boolean;
  /** Lowest and highest possible score; monitors need the range. */
  readonly range?: readonly [number, number];
  readonly labels?: readonly ScoreLabel[];
  /**
   * Version of the scorer. Raise it whenever an equal run may get another score. Absent: a hash of the source text of `run`.
   */
  readonly version?: string;
  /** Model that `run` asks; '' for none. Absent: unknown, so the run is redacted before the scorer gets it, as for a judge. */
  readonly judgeModel?: string;
  /** Scores a run. Returns `notScorable(reason)` for a run that cannot be scored. */
  readonly run: (
    run: TracedRun,
    options: { readonly abortSignal?: AbortSignal | undefined },
  ) => OwnScore | NotScorable | Promise<OwnScore | NotScorable>;
}

/** Creates a scorer from a function over a run, with types. Throws `ScorerError` when the id or `run` is missing. */
export function defineScorer(definition: OwnScorer): Scorer {
  if (!definition.id || typeof definition.run !== 'function') {
    throw new ScorerError('A scorer needs an id and run(): defineScorer({ id: "my-scorer", run: … })', {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
    });
  }
  return {
    version: sourceVersion([definition.run]),
    ...definition,
    async run(input, options = {}) {
      const result = await definition.run(input as unknown as TracedRun, options);
      if (!isNotScorable(result)) {
        return { ...result };
      }
      const { reason } = result;
      return { notScorable: { step: 'generateScore', ...(reason === undefined ? {} : { reason }) } };
    },
  };
}

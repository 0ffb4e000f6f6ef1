import { InvalidInputError } from '../../../domain/errors.ts';
import type { AgentInput, AgentOutput } from '../../../domain/trace/messages.ts';
import { isNotScorable, notScorable } from '../../../evals/not-scorable.ts';
import type { NotScorable } from '../../../evals/not-scorable.ts';
import { ScorerError } from '../../../evals/scorer-error.ts';
import type { ScorerRunInput } from '../../../evals/scorer.ts';
import { isScorerRunInputForAgent, isScorerRunOutputForAgent } from '../../utils/agent-shape.ts';
import { findEmptyContext } from './described-options.ts';
import { cutText } from '../../../domain/cut-text.ts';
import { listPieces } from './evidence/run-evidence.ts';
import type { Piece, Sight } from './evidence/run-evidence.ts';
import { NO_CONTEXT } from './run-context.ts';

/** Reads the context from a run; synchronous, it must not return a promise. */
export type ContextExtractor = (
  input: AgentInput,
  output: AgentOutput,
  run: ScorerRunInput,
) => readonly string[] | NotScorable;

export interface ContextOptions {
  readonly context?: readonly string[];
  readonly contextExtractor?: ContextExtractor;
}

/** A `contextExtractor` that returns the run's own context: results of tools, each with its call, and documents. */
export const contextFromRun: ContextExtractor = (_input, _output, run) => readPieces(run, {});

/** Creates the `contextExtractor` of rules: `contextFromRun`, bounded to the kinds that the judge sees. */
export function contextOfKinds(sees: Sight['sees']): ContextExtractor {
  return (_input, _output, run) => readPieces(run, { sees });
}

function readPieces(run: ScorerRunInput, sight: Sight): readonly string[] | NotScorable {
  const pieces = listPieces(run, sight).map(({ text }) => text);
  return pieces.length === 0 ? notScorable(NO_CONTEXT) : pieces;
}

/** Longest text of a piece in a finding, in characters. */
const NAMED_CHARS = 200;

/** Refuses, when a scorer is created, that it has no context. */
export function checkContextGiven(scorerId: string, { context, contextExtractor }: ContextOptions): void {
  const fault =
    context === undefined && contextExtractor === undefined
      ? 'needs options.context or options.contextExtractor'
      : findEmptyContext({ context });
  if (fault !== undefined) {
    throw new ScorerError(`Scorer "${scorerId}" ${fault}`, {
      id: 'MASTR_SCORER_FAILED_TO_CREATE_INVALID_OPTIONS',
      details: { scorerId, option: 'context' },
    });
  }
}

/** Reads the context of the options: the extractor's for runs of agents, else the fixed context; undefined without either. */
export function givenContext(
  scorerId: string,
  run: ScorerRunInput,
  { context, contextExtractor }: ContextOptions,
): readonly string[] | NotScorable | undefined {
  const { input, output } = run;
  if (
    contextExtractor === undefined ||
    !isScorerRunInputForAgent(input) ||
    !isScorerRunOutputForAgent(output)
  ) {
    return context;
  }
  const extracted: unknown = contextExtractor(input, output, run);
  if (isNotScorable(extracted)) {
    return extracted;
  }
  if (!Array.isArray(extracted) || !extracted.every((text) => typeof text === 'string')) {
    throw new InvalidInputError(
      `options.contextExtractor of scorer "${scorerId}" must return a list of texts, and at once`,
    );
  }
  return extracted;
}

/** Creates the names of a run's pieces in findings: number and words of a piece, and its kind where it is the run's own. */
export function pieceNamer(
  scorerId: string,
  run: ScorerRunInput,
  options: ContextOptions & Sight,
): (index: number) => { readonly statement: string; readonly source?: NonNullable<Piece['kind']> } {
  const given = givenContext(scorerId, run, options);
  const pieces = given === undefined || isNotScorable(given) ? [] : given;
  const own = listPieces(run, options);
  return (index) => {
    const text = pieces[index] ?? '';
    const kind = own.find((piece) => piece.text === text)?.kind;
    return {
      statement: `context ${index}: ${cutText(text, NAMED_CHARS)}`,
      ...(kind === undefined ? {} : { source: kind }),
    };
  };
}

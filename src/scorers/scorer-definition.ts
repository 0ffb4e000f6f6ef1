import { ConfigError } from '../domain/errors.ts';
import { findScoreLabel } from '../evals/score-label.ts';
import type { NamedScore, Scorer, ScorerMetadata } from '../evals/scorer.ts';
import { findOptionFault, type OptionRule } from './prebuilt/shared/checked-options.ts';

/** Judge and options of a scorer's entry. */
interface ScorerSpec {
  /** `provider/model`; '' where no judge is configured. */
  readonly judge: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** An option that a configuration can give. */
interface DefinedOption extends OptionRule {
  /** Meaning and default, for the documentation. */
  readonly means: string;
  /** Present where a rule cannot do without the option: what it is to hold. */
  readonly needed?: string;
}

/** Direction, range and labels of one score row, for a scorer that writes several rows. */
export type RowFacts = Pick<ScorerMetadata, 'higherIsBetter' | 'range' | 'labels'>;

/** A scorer as its own folder defines it. Its code is loaded by `create`. */
export interface ScorerParts {
  /** Name in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
  /** Names of its score rows, for a scorer that writes several. */
  readonly rows?: readonly string[];
  /** Facts of these rows, by name; a row that is absent has none before it is scored. */
  readonly rowFacts?: Readonly<Record<string, RowFacts>>;
  /** True for a scorer that measures what a run took, also a run that failed before its answer, beside the past of its agent. */
  readonly readsPast?: boolean;
  /** Completes "Measures …" in the documentation. */
  readonly measures: string;
  readonly options: Readonly<Record<string, DefinedOption>>;
  /** Finds a fault of options that are sound one by one. */
  findFault?(options: ScorerSpec['options']): string | undefined;
  create(spec: ScorerSpec): Promise<Scorer>;
}

/** A scorer that rules can name without an entry of their own. */
export interface ScorerDefinition extends ScorerParts {
  /** The first fault of the options in words, found without the scorer's code; undefined for sound ones. */
  findOptionFault(options: ScorerSpec['options']): string | undefined;
}

/** Adds what all definitions share: the check of the options, and the refusal of a scorer that lacks one. */
export function defineScorer(parts: ScorerParts): ScorerDefinition {
  return {
    ...parts,
    findOptionFault: (options) => findMissing(parts, options) ?? findWrong(parts, options),
    create: async (spec) => {
      const missing = findMissing(parts, spec.options);
      if (missing !== undefined) {
        throw new ConfigError(missing);
      }
      return parts.create(spec);
    },
  };
}

/** Builds a score of a row with what the row declares. */
export function buildRowScore<Rows extends Readonly<Record<string, RowFacts>>>(
  rows: Rows,
  name: keyof Rows & string,
  score: number,
): NamedScore {
  const { higherIsBetter, range, labels } = rows[name] as RowFacts;
  const label = findScoreLabel(score, labels) ?? '';
  return { name, score, label, higherIsBetter: higherIsBetter ?? true, ...(range === null ? {} : { range }) };
}

function findMissing({ name, options }: ScorerParts, given: ScorerSpec['options']): string | undefined {
  for (const [option, { needed }] of Object.entries(options)) {
    if (needed !== undefined && given[option] === undefined) {
      return `${name} needs options.${option}: ${needed}`;
    }
  }
  return undefined;
}

function findWrong(parts: ScorerParts, given: ScorerSpec['options']): string | undefined {
  const found = findOptionFault(given, parts.options);
  return found === undefined ? parts.findFault?.(given) : `options.${found.option} ${found.fault}`;
}

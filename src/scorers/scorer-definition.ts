import { ConfigError } from '../domain/errors.ts';
import { findScoreLabel, type NamedScore, type Scorer, type ScorerMetadata } from './evals/scorer.ts';
import { findOptionFault, type OptionRule } from './shared/options.ts';

type Options = Readonly<Record<string, unknown>>;

/** Direction, range and labels of one score row, for a scorer that writes several rows. */
export type RowFacts = Pick<ScorerMetadata, 'higherIsBetter' | 'range' | 'labels'>;

/** A scorer that rules can name without an entry of their own. */
export interface ScorerDefinition {
  /** Name in rules. */
  readonly name: string;
  readonly needsJudge: boolean;
  /** True for a scorer that a decision judge can answer, too. */
  readonly canDecide?: boolean;
  /** Names of its score rows, for a scorer that writes several. */
  readonly rows?: readonly string[];
  /** Facts of these rows, by name; a row that is absent has none before it is scored. */
  readonly rowFacts?: Readonly<Record<string, RowFacts>>;
  /** True for a scorer that measures what a run took, also a run that failed before its answer, beside the past of its agent. */
  readonly readsPast?: boolean;
  /** True for a scorer that asks its judge one question about a run, so that its questions can go into batches. */
  readonly asksOnce?: boolean;
  /** Completes "Measures …" in the documentation. */
  readonly measures: string;
  /** Options that a configuration can give, each with its meaning and default for the documentation. */
  readonly options: Readonly<Record<string, OptionRule & { readonly means: string }>>;
  /** Options that a rule cannot do without: what each is to hold. */
  readonly needs: Readonly<Record<string, string>>;
  /** The first fault of the options in words, found without the scorer's code; undefined for sound ones. */
  findOptionFault(options: Options): string | undefined;
  /** Creates the scorer. `judge` is `provider/model`; '' where no judge is configured. */
  create(spec: { readonly judge: string; readonly options: Options }): Promise<Scorer>;
}

type Defaulted = 'needsJudge' | 'options' | 'needs';

/** The parts of a definition that are the scorer's own. */
interface ScorerParts
  extends
    Omit<ScorerDefinition, 'findOptionFault' | 'create' | Defaulted>,
    Partial<Pick<ScorerDefinition, Defaulted>> {
  findFault?(options: Options): string | undefined;
  /** Loads the code of the scorer and creates it. */
  create(config: { readonly model: string; readonly options: Options }): Promise<Scorer>;
}

/** Adds what all definitions share: defaults, the check of the options, and the refusal of a scorer that lacks one. */
export function defineScorer(parts: ScorerParts): ScorerDefinition {
  const { name, options: rules = {}, needs = {}, rowFacts } = parts;
  const findMissing = (options: Options): string | undefined => {
    const missing = Object.keys(needs).find((option) => options[option] === undefined);
    return missing === undefined ? undefined : `${name} needs options.${missing}: ${needs[missing]}`;
  };
  return {
    needsJudge: false,
    ...(rowFacts === undefined ? {} : { rows: Object.keys(rowFacts) }),
    ...parts,
    options: rules,
    needs,
    findOptionFault(options) {
      const wrong = findOptionFault(options, rules);
      return (
        findMissing(options) ??
        (wrong === undefined ? parts.findFault?.(options) : `options.${wrong.option} ${wrong.fault}`)
      );
    },
    async create({ judge, options }) {
      const missing = findMissing(options);
      if (missing !== undefined) {
        throw new ConfigError(missing);
      }
      return parts.create({ model: judge, options });
    },
  };
}

export function buildRowScore<Rows extends Readonly<Record<string, RowFacts>>>(
  rows: Rows,
  name: keyof Rows & string,
  score: number,
): NamedScore {
  const { higherIsBetter, range, labels } = rows[name] as RowFacts;
  const label = findScoreLabel(score, labels) ?? '';
  return { name, score, label, higherIsBetter: higherIsBetter ?? true, ...(range === null ? {} : { range }) };
}

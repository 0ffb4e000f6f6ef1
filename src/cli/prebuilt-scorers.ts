import type { KnownScorer } from '../config/index.ts';
import type { Scorer } from '../evals/scorer.ts';

/** How a rule's entry wants a scorer made. */
export interface ScorerWish {
  /** `provider/model`; '' where no judge is configured. */
  readonly judge: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** A scorer that rules can name without an entry of their own. */
export interface PrebuiltScorer extends KnownScorer {
  /** Loads its code when it is first wanted. */
  create(wish: ScorerWish): Promise<Scorer>;
}

const prebuilt = async () => import('../scorers/prebuilt/index.ts');

/** One line each. */
export const PREBUILT_SCORERS: readonly PrebuiltScorer[] = [
  {
    name: 'keyword-coverage',
    needsJudge: false,
    create: async () => (await prebuilt()).createKeywordCoverageScorer(),
  },
  {
    name: 'content-similarity',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createContentSimilarityScorer(options),
  },
  {
    name: 'no-tool-errors',
    needsJudge: false,
    create: async () => (await prebuilt()).checks.noToolErrors(),
  },
  {
    name: 'hallucination',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createHallucinationScorer({ model: judge, options }),
  },
  {
    name: 'faithfulness',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createFaithfulnessScorer({ model: judge, options }),
  },
];

import { fingerprintOf } from '../domain/identity.ts';
import { canonicalOptions } from '../evals/canonical-options.ts';
import type { Scorer } from '../evals/scorer.ts';

/** What makes a scorer's scores comparable; a scorer that declares nothing is told apart by its id alone. */
export function fingerprintOfScorer(scorer: Scorer): string {
  return fingerprintOf({
    scorer: scorer.id,
    scorerVersion: scorer.version ?? '',
    options: canonicalOptions(scorer.options ?? null),
    promptVersion: scorer.promptVersion ?? '',
    judgeModel: scorer.judgeModel ?? '',
    decoding: null,
  });
}

import { computeFingerprint } from '../../domain/identity.ts';
import { canonicalOptions } from '../../evals/canonical-options.ts';
import type { Scorer } from '../../evals/scorer.ts';

/** Computes the fingerprint of a scorer. It depends on the id alone when the scorer declares nothing else. */
export function fingerprintOfScorer(scorer: Scorer): string {
  return computeFingerprint({
    scorer: scorer.id,
    scorerVersion: scorer.version ?? '',
    options: canonicalOptions(scorer.options ?? null),
    promptVersion: scorer.promptVersion ?? '',
    judgeModel: scorer.judgeModel ?? '',
    decoding: null,
  });
}

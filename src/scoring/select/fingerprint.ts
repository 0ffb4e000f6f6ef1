import { computeFingerprint } from '../../domain/identity.ts';
import { canonicalOptions } from '../../evals/canonical-options.ts';
import type { Scorer } from '../../evals/scorer.ts';

/** Fingerprint of a scorer; the id alone when the scorer declares nothing more. */
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

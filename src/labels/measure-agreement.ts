import { type AnswerPair, computeAgreement, countAnswers } from '../domain/agreement/agreement.ts';
import type { LabelAgreement } from '../domain/agreement/label-agreement.ts';
import {
  certify,
  estimatePassRate,
  type JudgedScores,
  measureRates,
  type RequiredRates,
} from '../domain/agreement/pass-rate.ts';

/** Measures a scorer by the labels of people: their common targets, and all of its scores by its verdict. */
export function measureAgreement(
  pairs: readonly AnswerPair[],
  judged: JudgedScores,
  required: RequiredRates,
): LabelAgreement {
  const confusion = countAnswers(pairs);
  const { raw, estimate: share, low, high, ...rest } = estimatePassRate(judged);
  const rates = measureRates(judged);
  const { sensitivity, specificity } = rates;
  return {
    ...computeAgreement(confusion),
    confusion,
    sensitivity: sensitivity?.share ?? null,
    sensitivityLow: sensitivity?.low ?? null,
    sensitivityHigh: sensitivity?.high ?? null,
    specificity: specificity?.share ?? null,
    specificityLow: specificity?.low ?? null,
    specificityHigh: specificity?.high ?? null,
    passRate: raw,
    estimate: { ...rest, raw, estimate: share, low, high },
    corrected: share === null || low === null || high === null ? null : { share, low, high },
    certificate: certify(rates, required),
  };
}

/**
 * Marks certificates as expired, of versions in the order of their last use: one that was certified and is not the present version or whose
 * judge changed, and the present version while only an earlier one was certified.
 * @param drifted fingerprints of versions whose judge judges otherwise than before
 */
export function expireCertificates<
  Version extends Pick<LabelAgreement, 'certificate'> & { readonly fingerprint: string },
>(versions: readonly Version[], drifted: ReadonlySet<string> = new Set()): Version[] {
  const certified = new Set(
    versions.flatMap(({ fingerprint, certificate }) =>
      certificate.state === 'certified' ? [fingerprint] : [],
    ),
  );
  const present = versions[0]?.fingerprint ?? '';
  const hadOne = certified.size > 0 && !certified.has(present);
  return versions.map((version) => {
    const { fingerprint, certificate } = version;
    const wasCertified = certificate.state === 'certified';
    const isExpired = fingerprint === present ? hadOne : wasCertified;
    return isExpired || (wasCertified && drifted.has(fingerprint))
      ? { ...version, certificate: { ...certificate, state: 'expired' } }
      : version;
  });
}

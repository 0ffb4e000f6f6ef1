import type { Agreement, Confusion, ShareInterval } from './agreement.ts';
import type { Certificate, PassRateEstimate } from './pass-rate.ts';

/** Agreement of a scorer (left) with people (right). Shares are null where they are not known; intervals are of 95 %. */
export interface LabelAgreement extends Agreement {
  readonly confusion: Confusion;
  /** Share of the passing targets that the scorer lets pass. */
  readonly sensitivity: number | null;
  readonly sensitivityLow: number | null;
  readonly sensitivityHigh: number | null;
  /** Share of the failing targets that the scorer lets fail. */
  readonly specificity: number | null;
  readonly specificityLow: number | null;
  readonly specificityHigh: number | null;
  readonly passRate: number | null;
  /** The pass rate without the scorer's mistakes. */
  readonly estimate: PassRateEstimate;
  /** Its estimate with the interval; null where people have not checked it. */
  readonly corrected: (ShareInterval & { readonly share: number }) | null;
  readonly certificate: Certificate;
}

export interface VersionFacts {
  readonly fingerprint: string;
  readonly scorerVersion: string;
  readonly judgeModel: string;
  readonly higherIsBetter: boolean;
  readonly scores: number;
}

export interface VersionAgreement extends VersionFacts, LabelAgreement {
  /** Name of the score rows. */
  readonly scorer: string;
}

export interface ReviewerAgreement extends Agreement {
  /** Name of the score rows. */
  readonly scorer: string;
  readonly left: string;
  readonly right: string;
}

/** Agreement of a scorer with people, and of people with each other. */
export interface AgreementReading {
  /** Versions with labels, by name of score rows, the last used first. */
  readonly versions: readonly VersionAgreement[];
  /** Pairs of reviewers with a target in common, by name of score rows. */
  readonly reviewers: readonly ReviewerAgreement[];
}

/**
 * Targets that a reviewer gets: those whose labels narrow the interval of the pass rate most, those that one other reviewer has labelled, and
 * those on which others are divided, where the next label decides.
 */
export const QUEUE_STRATEGIES = ['stratified', 'second', 'adjudicate'] as const;
export type QueueStrategy = (typeof QUEUE_STRATEGIES)[number];

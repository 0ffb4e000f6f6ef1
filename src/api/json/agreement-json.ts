import type { AgreementReading } from '../../domain/agreement/agreement.ts';
import { isoTime } from './time-json.ts';

/** Agreement of a scorer with people on the runs of a range. Times are Unix milliseconds. */
export interface AgreementView {
  readonly scorer: string;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly reading: AgreementReading;
}

/** Formats the agreement of a scorer with people. */
export function agreementJson({ scorer, sinceMs, untilMs, reading }: AgreementView) {
  const { versions, reviewers } = reading;
  return {
    scorer,
    since: isoTime(sinceMs) ?? '',
    until: isoTime(untilMs) ?? '',
    versions: [...versions],
    reviewers: [...reviewers],
  };
}

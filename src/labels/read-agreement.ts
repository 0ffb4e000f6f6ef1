import {
  computeAgreement,
  countAnswers,
  type Agreement,
  type AgreementReading,
  type ReviewerAgreement,
  type VersionAgreement,
} from '../domain/agreement/agreement.ts';
import type { LabelledScorer, LabelledVersion, ScorePair } from '../store/contracts/sums.ts';
import type { ComparedScoreStore } from '../store/sums/read-sums.ts';
import type { LabelStore } from '../store/tables/labels.ts';
import { measureAgreement } from './measure-agreement.ts';

/** Most labels of a version, or of two reviewers, that are compared. */
const MAX_PAIRS = 10_000;

/** Most reviewers that are compared with each other: those with the most labels. */
const MAX_REVIEWERS = 10;

/** Finds the directed score from which the scores of a row pass. */
export type FindPassLine = (row: string) => Promise<number>;

interface AgreementStores {
  readonly labels: Pick<LabelStore, 'versions' | 'reviewers'>;
  readonly comparedScores: ComparedScoreStore;
  readonly findPassLine: FindPassLine;
}

/** Range of runs. Times are Unix milliseconds. */
interface Range {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** Reads the scores of a version, or of a reviewer, and those of people, on the same targets. */
async function readPairs(
  { comparedScores, findPassLine }: Omit<AgreementStores, 'labels'>,
  { tenant, sinceMs, nowMs }: Range & Pick<LabelledScorer, 'tenant'>,
  {
    scorer,
    higherIsBetter,
    left,
    right = {},
  }: Pick<LabelledVersion, 'scorer' | 'higherIsBetter'> & {
    readonly left: { readonly fingerprint: string; readonly isHuman: boolean };
    /** Reviewer; absent: all. */
    readonly right?: { readonly fingerprint?: string };
  },
): Promise<ScorePair[]> {
  const terms = { scorer, higherIsBetter, passLine: await findPassLine(scorer) };
  return comparedScores.pairs({
    tenant,
    fromMs: sinceMs,
    toMs: nowMs,
    left: { ...terms, ...left },
    right: { ...terms, isHuman: true, ...right },
    limit: MAX_PAIRS,
  });
}

/** Score rows of a range of runs. */
type AgreementQuery = Range &
  Pick<LabelledScorer, 'tenant'> & {
    /** Names of the score rows. */
    readonly scorers: readonly string[];
  };

/** Measures the versions of a scorer and the reviewers by the labels on runs of a range, for each name of score rows. */
export async function readAgreement(
  stores: AgreementStores,
  { scorers, ...range }: AgreementQuery,
): Promise<AgreementReading> {
  const readings: AgreementReading[] = [];
  for (const scorer of scorers) {
    readings.push(await readRowAgreement(stores, { ...range, scorer }));
  }
  return {
    versions: readings.flatMap(({ versions }) => versions),
    reviewers: readings.flatMap(({ reviewers }) => reviewers),
  };
}

async function readRowAgreement(
  stores: AgreementStores,
  query: LabelledScorer & Range,
): Promise<AgreementReading> {
  const { labels, findPassLine } = stores;
  const { scorer } = query;
  const passLine = await findPassLine(scorer);
  const [versions, reviewers] = await Promise.all([
    labels.versions({ ...query, passLine }),
    labels.reviewers({ ...query, limit: MAX_REVIEWERS }),
  ]);
  const higherIsBetter = versions[0]?.higherIsBetter ?? true;
  const measured: VersionAgreement[] = [];
  for (const { weights, ...version } of reviewers.length === 0 ? [] : versions) {
    const left = { fingerprint: version.fingerprint, isHuman: false };
    const pairs = await readPairs(stores, query, { scorer, higherIsBetter, left });
    if (pairs.length > 0) {
      measured.push({ scorer, ...version, ...measureAgreement(pairs, { passLine, weights }) });
    }
  }
  const compared: ReviewerAgreement[] = [];
  for (const [index, left] of reviewers.entries()) {
    for (const right of reviewers.slice(index + 1)) {
      const pairs = await readPairs(stores, query, {
        scorer,
        higherIsBetter,
        left: { fingerprint: left.fingerprint, isHuman: true },
        right: { fingerprint: right.fingerprint },
      });
      if (pairs.length > 0) {
        compared.push({
          scorer,
          left: left.reviewer,
          right: right.reviewer,
          ...computeAgreement(countAnswers(pairs)),
        });
      }
    }
  }
  return { versions: measured, reviewers: compared };
}

/** Version of a scorer with its agreement with people on all labelled targets. */
export type VersionKappa = Pick<LabelledVersion, 'scorer' | 'scorerVersion' | 'fingerprint'> &
  Pick<Agreement, 'n' | 'kappa'>;

/** Measures the agreement of each version of each scorer with people, of all tenants: the last used versions. */
export async function readKappas(
  {
    labels,
    ...stores
  }: Omit<AgreementStores, 'labels'> & { readonly labels: Pick<LabelStore, 'labelledVersions'> },
  { limit, ...range }: Range & { readonly limit: number },
): Promise<VersionKappa[]> {
  const kappas: VersionKappa[] = [];
  for (const version of await labels.labelledVersions({ sinceMs: range.sinceMs, limit })) {
    const { scorer, scorerVersion, fingerprint } = version;
    const pairs = await readPairs(stores, range, {
      ...version,
      left: { fingerprint, isHuman: false },
    });
    if (pairs.length > 0) {
      const { n, kappa } = computeAgreement(countAnswers(pairs));
      kappas.push({ scorer, scorerVersion, fingerprint, n, kappa });
    }
  }
  return kappas;
}

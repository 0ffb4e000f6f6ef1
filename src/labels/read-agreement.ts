import { computeAgreement, countAnswers, type Agreement } from '../domain/agreement/agreement.ts';
import type {
  AgreementReading,
  ReviewerAgreement,
  VersionAgreement,
} from '../domain/agreement/label-agreement.ts';
import { DAY_MS } from '../domain/durations.ts';
import type {
  JudgedQuery,
  JudgedRows,
  LabelledScorer,
  LabelledVersion,
  ScorePair,
} from '../store/contracts/sums.ts';
import type { AlertStore } from '../store/monitors/alert-events.ts';
import type { ComparedScoreStore } from '../store/sums/score-pairs.ts';
import type { LabelStore } from '../store/tables/labels.ts';
import {
  type Certificate,
  estimatePassRate,
  type JudgedScores,
  NO_ROWS,
  type PassRateEstimate,
  type RequiredRates,
  type WeightedRows,
} from '../domain/agreement/pass-rate.ts';
import { expireCertificates, measureAgreement } from './measure-agreement.ts';

/** Most labels of a version, or of two reviewers, that are compared. */
const MAX_PAIRS = 10_000;

/** Most reviewers that are compared with each other: those with the most labels. */
const MAX_REVIEWERS = 10;

/** Finds the directed score from which the scores of a row pass. */
export type FindPassLine = (row: string) => Promise<number>;

/** Reader of the scores of a scorer by verdict. */
export interface JudgedStores {
  readonly labels: Pick<LabelStore, 'judged'>;
  readonly findPassLine: FindPassLine;
}

interface AgreementStores extends JudgedStores {
  readonly labels: Pick<LabelStore, 'judged' | 'reviewers'>;
  readonly comparedScores: ComparedScoreStore;
  readonly required: RequiredRates;
  readonly alerts: Pick<AlertStore, 'judgeDrifts'>;
}

/** Range of runs. Times are Unix milliseconds. */
interface Range {
  readonly sinceMs: number;
  readonly nowMs: number;
}

/** Reads the scores of a version, or of a reviewer, and those of people, on the same targets. */
async function readPairs(
  { comparedScores, findPassLine }: Pick<AgreementStores, 'comparedScores' | 'findPassLine'>,
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

type AgreementQuery = Range &
  Pick<LabelledScorer, 'tenant'> & {
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

/** Reads the versions of a scorer, the last used first, and their scores and labels by verdict. */
export async function readVersions(
  { labels, findPassLine }: JudgedStores,
  query: LabelledScorer & Pick<JudgedQuery, 'by' | 'chosen'>,
) {
  const passLine = await findPassLine(query.scorer);
  return { passLine, ...(await labels.judged({ ...query, passLine })) };
}

/** Sums rows by the verdicts of the scorer and of people. */
export function sumJudged(rows: readonly JudgedRows[]): JudgedScores {
  const sum = (passes: boolean, people: boolean | null) =>
    rows
      .filter((row) => row.passes === passes && row.people === people)
      .reduce<WeightedRows>(
        (total, { n, weight, squaredWeight }) => ({
          n: total.n + n,
          weight: total.weight + weight,
          squaredWeight: total.squaredWeight + squaredWeight,
        }),
        NO_ROWS,
      );
  const read = (passes: boolean) => ({
    scores: sum(passes, null),
    passing: sum(passes, true),
    failing: sum(passes, false),
  });
  return { pass: read(true), fail: read(false) };
}

/** Pass rate of one version of a scorer, over all its scores or in a group. */
export interface VersionEstimate extends PassRateEstimate {
  /** Group, or the name of the score rows. */
  readonly series: string;
  readonly scorer: string;
  readonly fingerprint: string;
  readonly certificate: Certificate;
}

/** Choice of scores whose pass rates are estimated. */
export type EstimatesQuery = AgreementQuery & Pick<JudgedQuery, 'by' | 'chosen' | 'untilMs'>;

/**
 * Estimates the pass rates of the versions of scorers that were used last, by name of score rows and group (`nameEstimate`). Scorers without
 * a label have none.
 */
export async function readNewestEstimates(
  stores: Parameters<typeof readEstimates>[0] & { readonly labels: Pick<LabelStore, 'labelledScorers'> },
  query: EstimatesQuery,
): Promise<ReadonlyMap<string, PassRateEstimate>> {
  const labelled = await stores.labels.labelledScorers(query);
  const scorers = query.scorers.filter((scorer) => labelled.has(scorer));
  const estimates = await readEstimates(stores, { ...query, scorers });
  return new Map(
    estimates.toReversed().map(({ series, scorer, scores, effectiveN, labels, raw, ...rate }) => {
      const { estimate, low, high, strata, moreLabels } = rate;
      const group = query.by === undefined ? [] : [series];
      return [
        nameEstimate(scorer, group),
        { scores, effectiveN, labels, raw, estimate, low, high, strata, moreLabels },
      ];
    }),
  );
}

/** Names the estimate of a group by its values, as rows have them (`JudgedRows`). */
export function nameEstimate(scorer: string, group: readonly string[] = []): string {
  return JSON.stringify([scorer, group.join('\0')]);
}

/** Estimates the pass rate of each version of a scorer, for each name of score rows; by group, if one is named. */
export async function readEstimates(
  stores: Pick<AgreementStores, 'labels' | 'findPassLine' | 'required' | 'alerts'>,
  { scorers, by, ...range }: EstimatesQuery,
): Promise<VersionEstimate[]> {
  const estimates: VersionEstimate[] = [];
  const drifted = await readDrifted(stores);
  for (const scorer of scorers) {
    const { versions, rows } = await readVersions(stores, { ...range, scorer, by });
    const ofVersion = Map.groupBy(rows, ({ fingerprint }) => fingerprint);
    const certified = expireCertificates(
      versions.map(({ fingerprint }) => ({
        fingerprint,
        ...measureAgreement([], sumJudged(ofVersion.get(fingerprint) ?? []), stores.required),
      })),
      drifted,
    );
    for (const { fingerprint, certificate } of certified) {
      const groups = Map.groupBy(ofVersion.get(fingerprint) ?? [], ({ group }) => group);
      for (const [group, own] of [...groups].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
        const series = by === undefined ? scorer : group;
        estimates.push({ series, scorer, fingerprint, ...estimatePassRate(sumJudged(own)), certificate });
      }
    }
  }
  return estimates;
}

/** Reads the fingerprints of versions whose judge has changed, as far as nobody has accepted the change. */
async function readDrifted({ alerts }: Pick<AgreementStores, 'alerts'>): Promise<Set<string>> {
  const open = (await alerts.judgeDrifts()).filter(({ endedMs }) => endedMs === null);
  return new Set(open.map(({ firing }) => firing.series.fingerprint));
}

/** Age of the labels that certify, milliseconds. */
const CERTIFIED_FOR_MS = 30 * DAY_MS;

/** Returns true while labels of people certify the version of a scorer that a series is of. */
export async function isCertified(
  stores: Pick<AgreementStores, 'labels' | 'findPassLine' | 'required' | 'alerts'>,
  {
    tenant,
    scorer,
    fingerprint,
  }: { readonly tenant: string; readonly scorer: string; readonly fingerprint: string },
  nowMs: number,
): Promise<boolean> {
  const range = { tenant, sinceMs: nowMs - CERTIFIED_FOR_MS, nowMs };
  const estimates = await readEstimates(stores, { ...range, scorers: [scorer] });
  return estimates.some((each) => each.fingerprint === fingerprint && each.certificate.state === 'certified');
}

async function readRowAgreement(
  stores: AgreementStores,
  query: LabelledScorer & Range,
): Promise<AgreementReading> {
  const { scorer } = query;
  const [{ versions, higherIsBetter, rows }, reviewers] = await Promise.all([
    readVersions(stores, query),
    stores.labels.reviewers({ ...query, limit: MAX_REVIEWERS }),
  ]);
  const measured: VersionAgreement[] = [];
  for (const version of reviewers.length === 0 ? [] : versions) {
    const { fingerprint } = version;
    const left = { fingerprint, isHuman: false };
    const pairs = await readPairs(stores, query, { scorer, higherIsBetter, left });
    const judged = sumJudged(rows.filter((row) => row.fingerprint === fingerprint));
    measured.push({ scorer, ...version, ...measureAgreement(pairs, judged, stores.required) });
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
  const certified = expireCertificates(measured, await readDrifted(stores));
  return { versions: certified.filter(({ n }) => n > 0), reviewers: compared };
}

/** Version of a scorer with its agreement with people on all labelled targets. */
export type VersionKappa = Pick<LabelledVersion, 'scorer' | 'scorerVersion' | 'fingerprint'> &
  Pick<Agreement, 'n' | 'kappa'>;

/** Measures the agreement of each version of each scorer with people, of all tenants: the last used versions. Stores their pass lines. */
export async function readKappas(
  {
    labels,
    ...stores
  }: Pick<AgreementStores, 'comparedScores' | 'findPassLine'> & {
    readonly labels: Pick<LabelStore, 'labelledVersions' | 'recordPassLine'>;
  },
  { limit, ...range }: Range & { readonly limit: number },
): Promise<VersionKappa[]> {
  const kappas: VersionKappa[] = [];
  for (const version of await labels.labelledVersions({ sinceMs: range.sinceMs, limit })) {
    const { scorer, scorerVersion, fingerprint } = version;
    await labels.recordPassLine(scorer, await stores.findPassLine(scorer));
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

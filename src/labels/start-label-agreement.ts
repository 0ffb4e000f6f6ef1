import { DAY_MS } from '../domain/durations.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../process/parts.ts';
import type { Store } from '../store/store.ts';
import type { Metrics, Reading } from '../telemetry/metrics.ts';
import { readKappas, type FindPassLine, type VersionKappa } from './read-agreement.ts';

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Least time between two measurements, milliseconds: people label slowly. */
const MEASURE_EVERY_MS = 60_000;

/** Least time between two measurements, as a multiple of the time of the last one: they take a small part of the store. */
const REST_FACTOR = 30;

/** Range of runs, milliseconds: that of `labels agreement` without `--since`. */
const RANGE_MS = 30 * DAY_MS;

/** Most versions with readings: as many values as a label of a metric has. */
const MAX_VERSIONS = 100;

/** Number of fingerprint digits, enough to distinguish the versions of a scorer. */
const FINGERPRINT_DIGITS = 8;

/**
 * Starts to measure the agreement of scorers with people, in one of the scorer processes at a time. A scrape gets the last measurement,
 * so it asks the store nothing. A process without the duty has no readings.
 */
export function startLabelAgreement(
  { labels, comparedScores, spans }: Pick<Store, 'labels' | 'comparedScores' | 'spans'>,
  {
    metrics,
    findPassLine,
    ...deps
  }: DutyDeps & { readonly metrics: Metrics; readonly findPassLine: FindPassLine },
): StartedPart {
  let kappas: readonly VersionKappa[] = [];
  let restUntilMs = 0;
  const work = async () => {
    const startedMs = performance.now();
    if (startedMs < restUntilMs) {
      return;
    }
    const nowMs = await spans.nowMs();
    kappas = await readKappas(
      { labels, comparedScores, findPassLine },
      { sinceMs: nowMs - RANGE_MS, nowMs, limit: MAX_VERSIONS },
    );
    const tookMs = performance.now() - startedMs;
    restUntilMs = startedMs + Math.max(MEASURE_EVERY_MS, REST_FACTOR * tookMs);
  };
  const onIdle = () => {
    kappas = [];
    restUntilMs = 0;
  };
  const failing =
    'the agreement of scorers with labels is not measured: the metrics show the last measurement';
  const forget = metrics.observe(() => kappas.flatMap(listReadings));
  const part = startRepeatedDuty(
    { duty: 'label agreement', everyMs: LOOK_EVERY_MS, failing, work, onIdle },
    deps,
  );
  const stop = async () => {
    forget();
    await part.stop();
  };
  return { ...part, stop };
}

function listReadings({ scorer, scorerVersion, fingerprint, n, kappa }: VersionKappa): Reading[] {
  const labels = {
    scorer,
    scorer_version: scorerVersion,
    fingerprint: fingerprint.slice(0, FINGERPRINT_DIGITS),
  };
  const targets: Reading = { name: 'spanscore.label.targets', value: n, labels };
  return kappa === null ? [targets] : [targets, { name: 'spanscore.label.agreement', value: kappa, labels }];
}

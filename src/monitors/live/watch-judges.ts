import type { AnchorRow } from '../../domain/anchor.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../../process/parts.ts';
import type { AlertStore } from '../../store/monitors/alert-events.ts';
import {
  type AlertEvent,
  computeAlertEventId,
  computeIncidentId,
  JUDGE_ALERT,
  JUDGE_DETECTOR,
} from '../alert-event.ts';
import { type AnchorSet, buildAnchorSets, readMeans, seriesStartMs, watchSet } from '../anchor-sets.ts';
import { buildEndEvent } from '../build-alert-event.ts';
import { type Thresholds, thresholdsFor } from '../statistics/false-alarms.ts';
import {
  dateChange,
  JUDGING_INTERVAL_MS,
  measureChange,
  tellWho,
  type TimedScore,
} from '../statistics/judge-drift.ts';
import { logAlert } from './start-monitors.ts';

/** Interval of the looks, milliseconds. */
const LOOK_EVERY_MS = 5_000;

/** Age of judgings that are read, milliseconds: longer than the sides of a change that anybody still asks about. */
export const JUDGINGS_READ_MS = 60 * DAY_MS;

/** Age of events of which some may still wait for the verdict, milliseconds. */
const WAITING_MS = 2 * DAY_MS;

/** False alarms about all judges that are acceptable in 30 days. */
const FALSE_ALARM_BUDGET = 1;

export interface WatchedJudge {
  readonly fingerprint: string;
  /** `provider/model`. */
  readonly judge: string;
}

/** Settings of the watch, which a reload may change. */
export interface JudgeWatchSettings {
  readonly judges: readonly WatchedJudge[];
  /** True: a change of a judge is accepted at once. */
  readonly startsNewSeries: boolean;
}

export interface JudgeWatchStore {
  readonly alerts: Pick<AlertStore, 'write' | 'judgeWork' | 'scoresSince' | 'acknowledge'>;
  readonly anchors: { since(sinceMs: number): Promise<AnchorRow[]> };
  nowMs(): Promise<number>;
}

export function judgeThresholds(judges: number): Thresholds {
  return thresholdsFor({
    budget: FALSE_ALARM_BUDGET,
    series: Math.max(1, judges),
    intervalMs: JUDGING_INTERVAL_MS,
  });
}

/**
 * Starts to watch judges by their anchors: writes the incidents of judges, and who changed in the incidents that wait for it. Every look
 * reads what is stored, so the next process goes on after a kill.
 */
export function startJudgeWatch(
  settings: () => JudgeWatchSettings,
  store: JudgeWatchStore,
  deps: DutyDeps,
): StartedPart {
  const failing = 'it is not known whether the agent or its judge changed: messages wait';
  const work = async () => {
    const { incidents, decided } = await lookAtJudges(settings(), store);
    incidents.forEach((event) => logAlert(event, deps.log));
    for (const { alert, incidentId, culprit } of decided.filter(({ endsAtMs }) => endsAtMs === null)) {
      deps.log.info('alert is explained', { alert, incidentId, changed: culprit?.who });
    }
  };
  return startRepeatedDuty({ duty: 'judge drift', everyMs: LOOK_EVERY_MS, failing, work }, deps);
}

/** Looks once at all judges, and returns what it wrote. */
export async function lookAtJudges(
  { judges, startsNewSeries }: JudgeWatchSettings,
  store: JudgeWatchStore,
): Promise<{ incidents: readonly AlertEvent[]; decided: readonly AlertEvent[] }> {
  const { alerts } = store;
  const nowMs = await store.nowMs();
  const [rows, { drifts, deciding }] = await Promise.all([
    judges.length === 0 ? [] : store.anchors.since(nowMs - JUDGINGS_READ_MS),
    alerts.judgeWork(nowMs - WAITING_MS),
  ]);
  const models = new Map(judges.map(({ fingerprint, judge }) => [fingerprint, judge]));
  const sets = buildAnchorSets(rows, drifts).filter(({ fingerprint }) => models.has(fingerprint));
  const looked = await Promise.all(
    deciding.map(async (event) => {
      const scores = await alerts.scoresSince(event.series, event.changeBeganMs);
      return decide(event, { sets, scores, nowMs });
    }),
  );
  const decided = looked.filter(({ culprit }) => culprit?.who !== 'deciding');
  const blamed = decided.filter(({ culprit }) => culprit?.who === 'judge' || culprit?.who === 'both');
  const thresholds = judgeThresholds(sets.length);
  const begins = sets
    .filter(({ open }) => open === null)
    .flatMap((set) => {
      const isSuspect = blamed.some(({ series }) => isOfSeries(set, series));
      return beginDrift(set, { judge: models.get(set.fingerprint) ?? '', thresholds, isSuspect });
    });
  const ends = drifts
    .filter(({ endedMs }) => endedMs === null)
    .flatMap(({ firing }) => {
      const acceptedMs = seriesStartMs(drifts, firing.series.fingerprint);
      return acceptedMs >= firing.startsAtMs
        ? [buildEndEvent(firing, acceptedMs)]
        : endDrift(firing, sets, { thresholds, nowMs });
    });
  // The incident of the judge comes first: after a kill between the two, it is there when the others are decided.
  const incidents = [...begins, ...ends];
  await alerts.write(incidents);
  await alerts.write(decided);
  if (startsNewSeries) {
    const open = drifts.filter(({ endedMs, acknowledgedMs }) => endedMs === null && acknowledgedMs === null);
    for (const { incidentId, series } of [...begins, ...open.map(({ firing }) => firing)]) {
      await alerts.acknowledge(incidentId, { tenant: series.tenant, by: '' });
    }
  }
  return { incidents, decided };
}

function isOfSeries({ scorer, fingerprint }: AnchorSet, series: AlertEvent['series']): boolean {
  return scorer === series.scorer && fingerprint === series.fingerprint;
}

interface Evidence {
  readonly sets: readonly AnchorSet[];
  /** Scores of the series of the incident since the change. */
  readonly scores: readonly TimedScore[];
  readonly nowMs: number;
}

/** Change of a series whose scores before or since it are not known. */
const UNMEASURED = { change: 0, error: 1 };

/** Tells who changed in an incident, where that is known by now; both events of an incident get the same. */
function decide(event: AlertEvent, { sets, scores, nowMs }: Evidence): AlertEvent {
  const { series, changeBeganMs, labels } = event;
  const set = sets.find((each) => isOfSeries(each, series));
  const decideByMs = event.culprit?.decideByMs ?? nowMs;
  const judgings = set?.judgings ?? [];
  const meanBefore = event.meanBefore ?? event.before;
  const { change, beganMs } =
    scores.length === 0 || meanBefore === null
      ? { change: UNMEASURED, beganMs: changeBeganMs }
      : { change: measureChange(scores, meanBefore), beganMs: dateChange(scores, meanBefore) };
  const { who, judge } = tellWho(
    {
      judgings: judgings.filter(({ atMs }) => atMs >= beganMs),
      before: judgings.filter(({ atMs }) => atMs < beganMs),
      size: set?.firsts.length ?? 0,
    },
    change,
    set === undefined || nowMs >= decideByMs,
  );
  if (who === undefined) {
    return event;
  }
  const isHeld = event.held === true || who === 'judge';
  return {
    ...event,
    labels: { ...labels, cause: who },
    culprit: { who, judge, decideByMs },
    ...(isHeld ? { held: true } : {}),
  };
}

interface DriftTerms {
  readonly judge: string;
  readonly thresholds: Thresholds;
  /** True: an incident of a monitor has shown that the judge changed. */
  readonly isSuspect: boolean;
}

function beginDrift(set: AnchorSet, { judge, thresholds, isSuspect }: DriftTerms): AlertEvent[] {
  const { scorer, fingerprint, judgings } = set;
  // The last judging dates the incident, so that two processes give it one id.
  const startsAtMs = judgings.at(-1)?.atMs ?? 0;
  const { changeBeganMs, evidenceLog10 } = watchSet(set, thresholds, isSuspect ? startsAtMs : null);
  if (changeBeganMs === null) {
    return [];
  }
  const since = judgings.filter(({ atMs }) => atMs >= changeBeganMs);
  const { before, after } = readMeans(since);
  const series = { tenant: '', scorer, fingerprint, agent: '', environment: '' };
  const incidentId = computeIncidentId({ alert: JUDGE_ALERT, series, startsAtMs });
  return [
    {
      id: computeAlertEventId(incidentId, 'firing'),
      incidentId,
      status: 'firing',
      alert: JUDGE_ALERT,
      detector: JUDGE_DETECTOR,
      series,
      startsAtMs,
      endsAtMs: null,
      changeBeganMs,
      before,
      after,
      count: since.length,
      lateScores: 0,
      evidenceLog10,
      labels: { scorer, judge },
      annotations: {},
      worstTraces: [],
      serviceVersion: '',
      agentVersion: '',
    },
  ];
}

/** Ends the incident of a judge that is as before, or that no rule asks any more. */
function endDrift(
  firing: AlertEvent,
  sets: readonly AnchorSet[],
  { thresholds, nowMs }: { readonly thresholds: Thresholds; readonly nowMs: number },
): AlertEvent[] {
  const set = sets.find(({ open }) => open?.firing.incidentId === firing.incidentId);
  if (set === undefined) {
    return [buildEndEvent(firing, nowMs)];
  }
  const { isOver, atMs } = watchSet(set, thresholds);
  return isOver ? [buildEndEvent(firing, atMs ?? nowMs)] : [];
}

import { InvalidInputError, SeveralTenantsError } from '../../domain/errors.ts';
import type { Caller } from '../access/request-access.ts';
import type { Scale } from '../../domain/agreement/directed-score.ts';
import { computeAuthorFingerprint, computeScoreId } from '../../domain/identity.ts';
import { describeOutside, type Score } from '../../domain/score.ts';
import { buildSessionTargetId } from '../../domain/session-target.ts';
import type { FindPassLine } from '../../labels/read-agreement.ts';
import { isUnjoined, joinPostedScore, joinPostedScores } from '../../scoring/record/record-runs.ts';
import type { PurgedTraces } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/store.ts';
import type { Config } from '../../configuration.ts';
import {
  configureCatchUp,
  createPassLineFinder,
  createScaleReader,
  fillScale,
  type ReadScales,
} from '../../scoring/setup/scorer-names.ts';
import type { LabelStore } from '../../store/tables/labels.ts';
import type { RunRecord } from '../../domain/run-record.ts';
import { MAX_SESSION_TURNS } from '../../scoring/sessions/select-sessions.ts';
import { joinSessionKey, type SessionKey } from '../../store/contracts/lists.ts';
import { joinTraceKey } from '../../store/contracts/stores.ts';
import { DAY_MS } from '../../domain/durations.ts';
import { type DutyDeps, startRepeatedDuty, type StartedPart } from '../../process/parts.ts';

/** Returns the path of a field of a posted score in the request. */
export type PathOf = (index: number, field: string) => string;

/** Returns the paths of a request: with an index for a list, without one for a single score. */
export function pathsOf(posted: unknown): PathOf {
  return Array.isArray(posted) ? (index, field) => `[${index}].${field}` : (_, field) => field;
}

export interface PostedFault {
  readonly path: string;
  readonly message: string;
}

/** Throws an `InvalidInputError` that names each fault, if there is one. */
export function rejectFaults(faults: readonly PostedFault[]): void {
  if (faults.length > 0) {
    const message = faults.map((fault) => `${fault.path}: ${fault.message}`).join('; ');
    throw new InvalidInputError(message, { errors: faults });
  }
}

/** Score of a person or of a program of the user. */
export interface PostedScore {
  /** '' for a score of a session. */
  readonly traceId: string;
  /** '' for a score of the whole run. */
  readonly spanId: string;
  readonly sessionId: string;
  readonly scorer: string;
  readonly score: number;
  readonly label: string;
  readonly reason: string;
  readonly source: 'human' | 'api';
  /** Default: the name of the token. */
  readonly scoredBy?: string | undefined;
}

export interface PostDeps {
  readonly store: Pick<Store, 'scores' | 'runs' | 'sessions' | 'spans' | 'labels' | 'reopenTraces'>;
  readonly purged: PurgedTraces;
  readonly readScales: ReadScales;
  /** Time since its first arrival for which a trace is opened again, milliseconds: the catch-up of live scoring. */
  readonly reopenMs: number;
}

export interface GivenScore extends PostedScore {
  /** Scale of the score of the scorer on the same target. Default: that of the scorer. */
  readonly scale?: Scale | undefined;
}

export function createPostDeps<S extends PostDeps['store']>(
  config: Config,
  {
    store,
    purged,
    findPassLine = createPassLineFinder(config),
  }: { readonly store: S; readonly purged: PurgedTraces; readonly findPassLine?: FindPassLine },
): PostDeps & { readonly store: S; readonly findPassLine: FindPassLine } {
  return {
    store,
    purged,
    readScales: createScaleReader(config, store.labels),
    findPassLine,
    reopenMs: configureCatchUp(config).maxAgeMs,
  };
}

/** Returns the author of scores that come without `scoredBy`: the name of the token, if there is one. */
export function nameAuthor({ name }: Pick<Caller, 'name'>): string {
  return name || 'anonymous';
}

/**
 * Stores scores of people and programs. A later score of the same target, scorer and author replaces the earlier one. A score whose
 * run is not known yet gets the facts of the run when the trace (or a turn of the session) is read. Returns the ids in the order of the
 * scores. Throws an `InvalidInputError` for a purged trace, for a target that several tenants have, and for a score outside of the range
 * of its scorer.
 */
export async function postScores(
  { store, purged, readScales, reopenMs }: PostDeps,
  caller: Caller,
  posted: GivenScore | readonly GivenScore[],
): Promise<string[]> {
  const pathOf = pathsOf(posted);
  const given = [posted].flat();
  await purged.renew();
  const tenants = await findTenants(store.labels, caller, given, pathOf);
  const owned = given.map((each, index) => ({ ...each, tenant: tenants[index] ?? '' }));
  rejectFaults(listPurged(owned, purged, pathOf));
  const scales = await readScales(
    given.map(({ scorer }) => scorer),
    [...new Set(tenants)],
  );
  const scaled = owned.map((each) => ({ ...each, scale: fillScale(each.scale, scales.get(each.scorer)) }));
  rejectFaults(listOutside(scaled, pathOf));
  const nowMs = await store.spans.nowMs();
  const author = nameAuthor(caller);
  const rows = scaled.map((each) => buildPostedRow(each, { author, nowMs }));
  // Of two scores with one id, the later one counts.
  const byId = new Map(rows.map((row) => [row.scoreId, row]));
  const formers = await store.scores.byIds([...byId.keys()]);
  const current = [...byId.values()].map((row) => replaceFormer(row, formers.get(row.scoreId)));
  const runs = await readPostedRuns(store, current);
  const joined = current.map((score) => joinPostedScore(score, runs) ?? score);
  await store.scores.write(joined);
  // A run that was stored meanwhile did not see the scores.
  const late = joined.filter(isUnjoined);
  await store.scores.write(joinPostedScores(late, await readPostedRuns(store, late)));
  await reopenDisliked(store, rows, nowMs - reopenMs);
  return rows.map(({ scoreId }) => scoreId);
}

/**
 * Reopens traces with negative feedback, which rules may always score. A trace whose spans have expired stays as it is: nobody could
 * read it again. So does one from before `sinceMs`: labels of an old history must not start judge calls, also not of its sessions.
 */
async function reopenDisliked(
  store: PostDeps['store'],
  rows: readonly Score[],
  sinceMs: number,
): Promise<void> {
  const disliked = rows.filter(({ traceId, score }) => traceId !== '' && score < 0);
  if (disliked.length === 0) {
    return;
  }
  const stored = await store.spans.facts(disliked, [], { feedback: false });
  await store.reopenTraces([...stored.values()], sinceMs);
}

type OwnedScore = GivenScore & { readonly tenant: string };

function listPurged(owned: readonly OwnedScore[], purged: PurgedTraces, pathOf: PathOf): PostedFault[] {
  return owned.flatMap(({ tenant, traceId }, index) =>
    traceId !== '' && purged.has({ tenant, traceId })
      ? [{ path: pathOf(index, 'traceId'), message: `the trace ${traceId} was purged` }]
      : [],
  );
}

function listOutside(scaled: readonly ScaledScore[], pathOf: PathOf): PostedFault[] {
  return scaled.flatMap(({ scorer, score, scale: { scoreMin, scoreMax } }, index) => {
    const range = scoreMin === null || scoreMax === null ? null : ([scoreMin, scoreMax] as const);
    const outside = describeOutside(scorer, score, range);
    return outside === undefined
      ? []
      : [{ path: pathOf(index, 'score'), message: `out_of_range: ${outside}` }];
  });
}

type ScaledScore = OwnedScore & { readonly scale: Scale };

interface PostTerms {
  readonly author: string;
  readonly nowMs: number;
}

function targetOf({ traceId, spanId, sessionId }: ScaledScore): Pick<Score, 'target' | 'targetId'> {
  if (traceId === '') {
    return { target: 'session', targetId: buildSessionTargetId(sessionId) };
  }
  return spanId === ''
    ? { target: 'trace', targetId: traceId }
    : { target: 'agent', targetId: `${traceId}/${spanId}` };
}

function buildPostedRow(posted: ScaledScore, { author, nowMs }: PostTerms): Score {
  const { tenant, traceId, spanId, sessionId, scorer, source, scale } = posted;
  const scoredBy = posted.scoredBy ?? author;
  const fingerprint = computeAuthorFingerprint(source, scoredBy);
  const { target, targetId } = targetOf(posted);
  return {
    // Whether a span is an agent or a model call is known when its trace is read. It does not change the id.
    scoreId: computeScoreId({ tenant, target, targetId, scorer, fingerprint }),
    tenant,
    traceId,
    spanId,
    target,
    targetId,
    sessionId,
    scorer,
    scorerVersion: '',
    fingerprint,
    judgeModel: '',
    promptVersion: '',
    score: posted.score,
    confidence: null,
    rung: 0,
    rungProbability: null,
    firstScore: posted.score,
    label: posted.label,
    ...scale,
    reason: posted.reason,
    verdicts: [],
    serviceName: '',
    serviceVersion: '',
    agent: '',
    agentVersion: '',
    environment: '',
    model: '',
    userId: '',
    traceTimestamp: nowMs,
    scoredAt: nowMs,
    inputTokens: null,
    outputTokens: null,
    costUsd: null,
    judgeCalls: 0,
    durationMs: 0,
    redactions: 0,
    stratum: 'none',
    inclusionProbability: 1,
    weight: null,
    revision: 1,
    completeness: 'partial',
    source,
    scoredBy,
    evidenceHash: '',
    day: new Date(nowMs).toISOString().slice(0, 10),
    evidenceUntil: nowMs,
    isDeleted: false,
  };
}

/** Gives a row the place of the row that it replaces, and a later version. */
function replaceFormer(row: Score, former: Score | undefined): Score {
  return former === undefined
    ? row
    : {
        ...row,
        day: former.day,
        revision: former.revision + 1,
        evidenceUntil: Math.max(row.evidenceUntil, former.evidenceUntil + 1),
      };
}

/** Trace or session of a posted score; the other id is ''. */
interface PostedTarget {
  readonly traceId: string;
  readonly sessionId: string;
}

/**
 * Finds the tenants of posted scores: that of the caller, else the one that has the trace or the session; '' for an unknown one.
 * Throws an `InvalidInputError` when several tenants have one of them.
 */
export async function findTenants(
  labels: Pick<LabelStore, 'tenantsOf'>,
  { tenant }: Pick<Caller, 'tenant'>,
  targets: readonly PostedTarget[],
  pathOf: PathOf,
): Promise<readonly string[]> {
  if (tenant !== undefined) {
    return targets.map(() => tenant);
  }
  const ids = targets.map(readId);
  const listIds = (kind: 'trace' | 'session') => ids.flatMap((each) => (each.kind === kind ? [each.id] : []));
  const [trace, session] = await Promise.all([
    labels.tenantsOf('trace', listIds('trace')),
    labels.tenantsOf('session', listIds('session')),
  ]);
  const found = ids.map(({ kind, id }) => ({ trace, session })[kind].get(id) ?? []);
  rejectFaults(
    ids.flatMap((target, index) => {
      const tenants = found[index] ?? [];
      return tenants.length > 1
        ? [
            {
              path: pathOf(index, target.field),
              message: new SeveralTenantsError(`${target.kind} ${target.id}`, tenants).message,
            },
          ]
        : [];
    }),
  );
  return found.map(([only = '']) => only);
}

function readId({ traceId, sessionId }: PostedTarget) {
  return traceId === ''
    ? ({ kind: 'session', id: sessionId, field: 'sessionId' } as const)
    : ({ kind: 'trace', id: traceId, field: 'traceId' } as const);
}

/** Reads the runs that posted scores may join: those of their traces, and the newest turns of their sessions. */
export async function readPostedRuns(
  { runs, sessions }: Pick<Store, 'runs' | 'sessions'>,
  scores: readonly Score[],
): Promise<RunRecord[]> {
  const listed = await sessions.turnsOf(listSessions(scores), MAX_SESSION_TURNS);
  const traces = [...scores.filter(({ traceId }) => traceId !== ''), ...listed.flatMap(({ turns }) => turns)];
  const keys = new Map(traces.map((key) => [joinTraceKey(key), key]));
  return [...(await runs.ofTraces([...keys.values()])).values()].flat();
}

export function listSessions(scores: readonly Score[]): SessionKey[] {
  const ofSessions = scores.filter(({ traceId }) => traceId === '');
  return [...new Map(ofSessions.map((score) => [joinSessionKey(score), score])).values()];
}

/** Time between two looks, milliseconds. */
const LOOK_EVERY_MS = 10_000;

/** Time that a look reads again, milliseconds: longer than the longest insert, whose rows become visible that long after their stamp. */
const OVERLAP_MS = 45_000;

/** Time for which a score waits for its run, milliseconds. A run that comes later adds its facts when its trace is read. */
const WAIT_MS = DAY_MS;

/** Most scores that wait. */
const MAX_WAITING = 10_000;

type JoinStores = Pick<Store, 'labels' | 'scores' | 'runs' | 'sessions' | 'spans'>;

/**
 * Starts to join posted scores with runs, in one of the scorer processes at a time. A post and the store of its run may overlap: the post
 * finds no run yet, and the scorer has read the scores of the trace before the post. Then neither of both joins them.
 */
export function startPostedJoins(store: JoinStores, deps: DutyDeps): StartedPart {
  const waiting = new Map<string, Score>();
  let readUntilMs: number | undefined;
  const work = async () => {
    const nowMs = await store.spans.nowMs();
    const writtenSinceMs = Math.min(readUntilMs ?? nowMs - WAIT_MS, nowMs) - OVERLAP_MS;
    for (const score of await store.labels.unjoined({ writtenSinceMs, limit: MAX_WAITING })) {
      waiting.set(score.scoreId, score);
    }
    forgetOldest(waiting, nowMs);
    if (waiting.size > 0) {
      await joinWaiting(store, waiting, writtenSinceMs);
    }
    readUntilMs = nowMs;
  };
  const onIdle = () => {
    waiting.clear();
    readUntilMs = undefined;
  };
  const failing = 'posted scores wait for the facts of their runs';
  return startRepeatedDuty({ duty: 'posted scores', everyMs: LOOK_EVERY_MS, failing, work, onIdle }, deps);
}

/** Joins the waiting scores whose runs are known by now, and takes them out. */
async function joinWaiting(store: JoinStores, waiting: Map<string, Score>, sinceMs: number): Promise<void> {
  const known = await readPostedRuns(store, await leaveOutIdle(store, [...waiting.values()], sinceMs));
  const found = [...waiting.values()].filter((score) => joinPostedScore(score, known) !== undefined);
  // Somebody may have replaced or deleted a score since it was read.
  const current = await store.scores.byIds(found.map(({ scoreId }) => scoreId));
  await store.scores.write(joinPostedScores([...current.values()], known));
  found.forEach(({ scoreId }) => waiting.delete(scoreId));
}

/** Leaves out the scores of sessions without a turn since a time: their turns were looked up before, and the look-up is costly. */
async function leaveOutIdle(
  { sessions }: Pick<Store, 'sessions'>,
  waiting: readonly Score[],
  sinceMs: number,
): Promise<Score[]> {
  const changed = await sessions.changed(listSessions(waiting), sinceMs);
  const names = new Set(changed.map(joinSessionKey));
  return waiting.filter((score) => score.traceId !== '' || names.has(joinSessionKey(score)));
}

function forgetOldest(waiting: Map<string, Score>, nowMs: number): void {
  const oldestFirst = [...waiting.values()].toSorted((a, b) => a.scoredAt - b.scoredAt);
  const tooMany = waiting.size - MAX_WAITING;
  for (const [index, { scoreId, scoredAt }] of oldestFirst.entries()) {
    if (index < tooMany || nowMs - scoredAt > WAIT_MS) {
      waiting.delete(scoreId);
    }
  }
}

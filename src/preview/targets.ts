import type { BackfillRange } from '../backfill/backfill-spec.ts';
import { listTraces } from '../backfill/select-backfill.ts';
import { listSessions, SESSION_PAGE } from '../backfill/select-sessions.ts';
import type { SampledCell } from '../estimate/planned-work.ts';
import { renderSessions, renderTraces, type RenderedRuns } from '../estimate/render-work.ts';
import { lookAtSessions } from '../estimate/select-sessions.ts';
import { lookAtTraces, type LookedTrace } from '../estimate/select-traces.ts';
import type { Scoring } from '../scoring/scoring.ts';
import type { ScoringMode } from '../scoring/scoring-mode.ts';
import type { SessionSettings } from '../scoring/sessions/session-readiness.ts';
import { joinSessionKey, type SessionKey } from '../store/contracts/sessions.ts';
import { joinTraceKey, MAX_KEYS, type TraceKey } from '../store/contracts/stores.ts';
import { judgeSessions, judgeTraces, type JudgeTerms, type PreviewedTrace } from './judge-sample.ts';

/** Trace or session whose rules are selected, before its content is read. */
export interface LookedTarget<Key> extends Pick<LookedTrace, 'rules' | 'declined' | 'isArriving'> {
  readonly key: Key;
}

/** Kind of targets of a preview: how they are listed, rendered and judged. */
export interface PreviewTargets<Key> {
  /** Returns the same name for the same target, and for no other one. */
  name(key: Key): string;
  /** Lists the targets of a range. Each page is a function that looks at its targets. */
  list(range: BackfillRange): AsyncIterable<() => Promise<readonly LookedTarget<Key>[]>>;
  render(cells: readonly SampledCell<Key>[]): Promise<RenderedRuns>;
  judge(keys: readonly Key[], terms: JudgeTerms): Promise<PreviewedTrace[]>;
}

/** Creates the targets of a rule on traces or their parts. */
export function createTraceTargets(scoring: Scoring, mode: ScoringMode): PreviewTargets<TraceKey> {
  const first = { after: null, limit: MAX_KEYS };
  return {
    name: joinTraceKey,
    async *list(range) {
      for await (const { traces } of listTraces(scoring.stores.spans, range, first)) {
        yield () => lookAtTraces(scoring, mode, traces);
      }
    },
    render: (cells) => renderTraces(scoring, cells, mode),
    judge: (keys, terms) => judgeTraces(scoring, mode, keys, terms),
  };
}

/** Creates the targets of a rule on sessions. A session is known by the runs that were read. */
export function createSessionTargets(
  scoring: Scoring,
  mode: ScoringMode,
  settings: SessionSettings,
): PreviewTargets<SessionKey> {
  const first = { after: null, limit: SESSION_PAGE };
  return {
    name: joinSessionKey,
    async *list(range) {
      for await (const { sessions } of listSessions(scoring.stores, range, first)) {
        yield () => lookAtSessions(scoring, mode, { sessions, settings });
      }
    },
    render: (cells) => renderSessions(scoring, cells, mode, settings),
    judge: (keys, terms) => judgeSessions(scoring, mode, keys, { ...terms, settings }),
  };
}

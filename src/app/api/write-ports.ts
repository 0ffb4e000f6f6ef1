import type { AuditedWrite, WritePorts } from '../../api/access/write-ports.ts';
import type { Caller } from '../../api/api-env.ts';
import { NotFoundError } from '../../domain/errors.ts';
import type { FindPassLine } from '../../labels/read-agreement.ts';
import { NOTHING_PURGED, type PurgedTraces } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import { acknowledgeIncident, muteSubject, unmuteSubject } from '../monitors/alert-replies.ts';
import type { KeyedRule } from '../monitors/configured-monitors.ts';
import { storeLabel } from '../labels/store-label.ts';
import { loadPurgeKey } from '../jobs/purges.ts';
import { createWriteRecorder } from './audit.ts';
import { createBackfillWrites } from './backfill-requests.ts';
import { deleteScore } from './delete-score.ts';
import { narrowTenant } from '../reads/scope-options.ts';
import { createPostDeps, postScores } from './posted-scores.ts';
import { createPreviewWrites } from './preview-requests.ts';
import { startPurge } from './purge-requests.ts';
import { scoreNow } from './score-requests.ts';
import type { ScoringOnDemand } from './scoring-on-demand.ts';

/** Stores the audit row of a write, then returns the ports of writes for its caller. */
export type OpenWrites = (caller: Caller, write: AuditedWrite) => Promise<WritePorts>;

/** Parts of a process that writes need. */
export interface WriteParts {
  readonly store: Store;
  /** Default: nothing is purged. */
  readonly purged?: PurgedTraces;
  /** Default: no scorers. */
  readonly onDemand?: ScoringOnDemand;
  /** Default: without the labels of modules. */
  readonly findPassLine?: FindPassLine;
  /** Aborted when the process stops. Default: never. */
  readonly stopping?: AbortSignal;
}

const NO_SCORING: ScoringOnDemand = {
  load: () => Promise.reject(new NotFoundError('this process runs no scorers')),
  isBesideLive: false,
  stop: async () => undefined,
};

/**
 * Creates the ports of writes. Nobody gets them without an audit row.
 * @param rules rules of the monitors of the configuration
 */
export function createWriteOpener(
  config: Config,
  { store, purged = NOTHING_PURGED, onDemand = NO_SCORING, findPassLine }: WriteParts,
  rules: readonly KeyedRule[],
): OpenWrites {
  const { alerts, markers, monitorView, spans } = store;
  const recordWrite = createWriteRecorder(store.audit, loadPurgeKey(config.store));
  const posting = createPostDeps(config, {
    store,
    purged,
    ...(findPassLine === undefined ? {} : { findPassLine }),
  });
  return async (caller, write) => {
    const { tenant } = caller;
    await recordWrite(caller, write);
    return {
      alerts: {
        acknowledge: (incident) => acknowledgeIncident(alerts, incident, tenant),
        mute: async (subject, untilMs) =>
          muteSubject(
            alerts,
            { subject, untilMs, tenant },
            { rules, monitorView, nowMs: await spans.nowMs() },
          ),
        unmute: (subject, of) => unmuteSubject(alerts, { subject, of, tenant }),
      },
      markers: {
        record: async (marker) => {
          const own = { ...marker, tenant: tenant ?? '' };
          await markers.record(own);
          return own;
        },
      },
      scores: {
        post: (scores, named) => postScores(posting, narrow(caller, named), scores),
        delete: (scoreId) => deleteScore(store, caller, scoreId),
        run: (request, signal) => scoreNow({ config, store, onDemand, signal }, caller, request),
      },
      labels: { store: (label, named) => storeLabel(posting, narrow(caller, named), label) },
      purges: { start: (request) => startPurge(config, store, caller, request) },
      previews: createPreviewWrites({ config, store, onDemand }, caller),
      backfills: createBackfillWrites({ config, store, onDemand }, caller),
    };
  };
}

/** Returns a caller that sees only the tenant that it names. */
function narrow(caller: Caller, named: string | undefined): Caller {
  return { ...caller, tenant: narrowTenant(caller.tenant, named) };
}

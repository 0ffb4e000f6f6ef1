import type { Caller, SignIns } from '../access/request-access.ts';
import type { PurgeKey } from '../../purge/purge-key.ts';
import type { AuditStore } from '../../store/tables/access.ts';
import type { PurgeKind } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/store.ts';

/** Actions of the API, as the audit names them. */
export type AuditAction =
  | 'session.begin'
  | 'session.end'
  | 'alert.acknowledge'
  | 'alert.note'
  | 'issue.change'
  | 'mute.set'
  | 'mute.end'
  | 'marker.record'
  | 'label.post'
  | 'label.import'
  | 'score.post'
  | 'score.delete'
  | 'trace.score'
  | 'trace.sample'
  | 'trace.purge'
  | 'session.purge'
  | 'user.purge'
  | 'tenant.purge'
  | 'rescore.start'
  | 'rule.preview'
  | 'sql.run'
  | 'config.reload'
  | 'config.apply'
  | 'backfill.preview'
  | 'backfill.start'
  | 'backfill.pause'
  | 'backfill.resume'
  | 'backfill.cancel';

/** Thing that a write changes. Ids of traces, sessions, users and tenants are stored as hashes. */
export interface AuditSubject {
  readonly kind:
    | 'trace'
    | 'session'
    | 'user'
    | 'tenant'
    | 'score'
    | 'incident'
    | 'issue'
    | 'alert'
    | 'service'
    | 'rule'
    | 'scorer'
    | 'backfill'
    | 'sign-in'
    | 'config';
  readonly id: string;
}

/** Returns the subject of a write on a target: its session, or its trace. */
export function subjectOf(target: { readonly traceId: string; readonly sessionId: string }): AuditSubject {
  const { traceId, sessionId } = target;
  return traceId === '' ? { kind: 'session', id: sessionId } : { kind: 'trace', id: traceId };
}

/** A write, as a caller asks for it. */
export interface AuditedWrite {
  readonly action: AuditAction;
  readonly subjects: readonly AuditSubject[];
}

export type RecordWrite = (caller: Caller, write: AuditedWrite) => Promise<void>;

/** Creates the recorder of writes. Ids that may be those of a person are hashed with the key of purges. */
export function createWriteRecorder(audit: AuditStore, key: PurgeKey): RecordWrite {
  return ({ name, tenant = '' }, { action, subjects }) =>
    audit.write({
      tenant,
      token: name,
      action,
      subjects: [...new Set(subjects.map((subject) => `${subject.kind}:${hideId(subject, tenant, key)}`))],
    });
}

/** Creates the sign-ins of a store: the audit has the ended ones. */
export function createSignIns({ cookieKeys, audit }: Pick<Store, 'cookieKeys' | 'audit'>): SignIns {
  const action: AuditAction = 'session.end';
  return {
    readKey: () => cookieKeys.read(),
    hasEnded: (id) => audit.has(action, `sign-in:${id}`),
  };
}

/** Returns the id, or its hash: the same as in the tombstones of purges. */
function hideId({ kind, id }: AuditSubject, tenant: string, key: PurgeKey): string {
  return isPurgeKind(kind) ? key.compute(kind, kind === 'tenant' ? '' : tenant, id) : id;
}

function isPurgeKind(kind: string): kind is PurgeKind {
  return ['trace', 'session', 'user', 'tenant'].includes(kind);
}

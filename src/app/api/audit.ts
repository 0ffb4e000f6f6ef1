import type { SignIns } from '../../api/access/request-access.ts';
import type { AuditAction, AuditedWrite, AuditSubject } from '../../api/access/write-ports.ts';
import type { Caller } from '../../api/api-env.ts';
import type { PurgeKey } from '../../purge/purge-key.ts';
import type { AuditStore } from '../../store/contracts/access.ts';
import type { PurgeKind } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/contracts/store.ts';

/** Stores the audit row of a write. */
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

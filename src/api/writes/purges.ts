import type { Caller } from '../access/request-access.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { PURGE, readPurgeSpec } from '../../purge/purge-spec.ts';
import { findOpenPurge, preparePurge } from '../../purge/start-purge.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { PurgeKind, PurgeSubject } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../../configuration.ts';
import { loadPurgeKey, requireSharedKey } from '../../purge/configured-purge.ts';
import { narrowTenant } from '../reads/scope.ts';

/** Thing to purge. */
export interface PurgeRequest {
  readonly kind: PurgeKind;
  readonly id: string;
  /** Tenant of the thing, where several have it. */
  readonly tenant?: string | undefined;
}

/**
 * Begins a purge within the tenant of the caller, or finds the one that was begun before. Throws a `NotFoundError` when the caller has
 * nothing of this id, and a `ConfigError` without a key that all processes share. Returns the id of its job, and the data that stays all the
 * same; null for none.
 */
export async function startPurge(config: Config, store: Store, caller: Caller, request: PurgeRequest) {
  requireSharedKey(config.store);
  const key = loadPurgeKey(config.store);
  const subject = readSubject(caller, request);
  const begun = await findOpenPurge(store.jobs, key, subject, false);
  const id = begun ?? (await prepare());
  return { id, remains: describeRemains(config) };

  async function prepare(): Promise<string> {
    const stores = { ...store, nowMs: () => store.spans.nowMs() };
    return (await preparePurge(stores, key, subject, undefined)).start();
  }
}

function readSubject({ tenant }: Caller, { kind, id, tenant: asked }: PurgeRequest): PurgeSubject {
  const narrowed = narrowTenant(tenant, kind === 'tenant' ? id : asked);
  return { kind, id, tenant: kind === 'tenant' ? undefined : narrowed };
}

/** Says where spans stay after a purge; null where all is deleted. */
function describeRemains({ store: { spans } }: Config): string | null {
  const tables = [spans?.table, spans?.logs].filter((name) => name !== undefined);
  return tables.length === 0
    ? null
    : `spans in ${tables.join(' and ')} stay: spanscore only reads them; delete them there`;
}

/** Reads a job. Throws a `NotFoundError` for an unknown id, and for a job of another tenant. */
export async function findJob(
  config: Config,
  store: Pick<Store, 'jobs'>,
  caller: Caller,
  id: string,
): Promise<Job> {
  const job = await store.jobs.find(id);
  if (job === undefined || !isVisible(config, caller, job)) {
    throw new NotFoundError(`there is no job ${id}`);
  }
  return job;
}

/** The purge of a whole tenant is a job of the installation, which that tenant may see. */
function isVisible(config: Config, { tenant }: Caller, { kind, tenant: owner, spec }: Job): boolean {
  if (tenant === undefined || owner === tenant) {
    return true;
  }
  const purge = kind === PURGE ? readPurgeSpec(spec) : undefined;
  return purge?.kind === 'tenant' && purge.hash === loadPurgeKey(config.store).compute('tenant', '', tenant);
}

import type { PurgeRequest, StartedPurge } from '../../api/access/write-ports.ts';
import type { Caller } from '../../api/api-env.ts';
import { NotFoundError } from '../../domain/errors.ts';
import { PURGE, readPurgeSpec } from '../../purge/purge-spec.ts';
import { findOpenPurge, preparePurge } from '../../purge/start-purge.ts';
import type { Job } from '../../store/contracts/jobs.ts';
import type { PurgeSubject } from '../../store/contracts/purge.ts';
import type { Store } from '../../store/contracts/store.ts';
import type { Config } from '../config/index.ts';
import { loadPurgeKey, requireSharedKey } from '../jobs/purges.ts';
import { chooseTenant } from './named-tenant.ts';

/**
 * Begins a purge within the tenant of the caller, or finds the one that was begun before. Throws a `NotFoundError` when the caller has
 * nothing of this id, and a `ConfigError` without a key that all processes share.
 */
export async function startPurge(
  config: Config,
  store: Store,
  caller: Caller,
  request: PurgeRequest,
): Promise<StartedPurge> {
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

function readSubject(caller: Caller, { kind, id, tenant }: PurgeRequest): PurgeSubject {
  const chosen = chooseTenant(caller, kind === 'tenant' ? id : tenant);
  return { kind, id, tenant: kind === 'tenant' ? undefined : chosen };
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

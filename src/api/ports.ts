import type { LabelPorts } from './resources/label-ports.ts';
import type { AuditedWrite, WritePorts } from './access/write-ports.ts';
import type { Deploy, DeployMarker } from '../domain/deploy-marker.ts';
import type { AlertEvent } from '../monitors/alert-event.ts';
import type { Mute } from '../monitors/mute.ts';
import type { MonitorStanding } from '../monitors/monitor-status.ts';
import type { VersionComparison } from '../monitors/version-compare.ts';
import type { Job } from '../store/contracts/jobs.ts';
import type { Listed, ListPage } from '../store/contracts/lists.ts';
import type { ReadPorts } from './lists/read-ports.ts';
import type { AggregatePorts } from './resources/aggregates/aggregate-ports.ts';
import type { SqlStatements } from '../store/sql/run-statement.ts';
import type { CoverageRow, WaitingCount } from '../store/contracts/aggregates/coverage.ts';

/** Conditions of a list with times. */
export interface SinceFilter {
  /** Unix milliseconds. */
  readonly sinceMs?: number | undefined;
}

/** States of the configured monitors, of one tenant, or of all. */
export interface StandingPorts {
  /** By alert and series. */
  list(filter: SinceFilter, page: ListPage): Promise<Listed<MonitorStanding>>;
  /** The states that fire first. */
  listFiring(filter: SinceFilter, limit: number): Promise<readonly MonitorStanding[]>;
}

/** A version in one service, and the series that it changed. */
export interface ComparedDeploy {
  readonly deploy: Deploy;
  readonly comparisons: readonly VersionComparison[];
}

/** Alerts of one tenant, or of all. */
export interface AlertPorts {
  /** Newest first. */
  list(filter: SinceFilter, page: ListPage): Promise<Listed<AlertEvent>>;
  /** Reads the active mutes of the tenant and of all tenants. */
  mutes(): Promise<readonly Mute[]>;
  /** Lists the same mutes, the latest begun first. */
  listMutes(page: ListPage): Promise<Listed<Mute>>;
  /** Reads the times of acknowledgements by incident, Unix milliseconds. */
  acknowledged(): Promise<ReadonlyMap<string, number>>;
}

/** Deploy markers of one tenant, or of all. */
export interface MarkerPorts {
  /** Newest first. */
  list(filter: SinceFilter, page: ListPage): Promise<Listed<DeployMarker>>;
  compare(version: string): Promise<readonly ComparedDeploy[]>;
}

/** Ports that handlers may use. The ports of a caller see one tenant: no handler filters by tenants. */
export interface ApiPorts {
  readonly status: () => Promise<object>;
  readonly store: StorePorts;
  /** Statements over the rows of all tenants; undefined for a caller of one tenant. */
  readonly sql?: SqlStatements | undefined;
}

/** Counts of decisions, and of targets that wait for their first one. */
export interface CoverageCounts {
  readonly decided: readonly CoverageRow[];
  /** Start of the range: the hour of the asked time, where past hours are summed. */
  readonly sinceMs: number;
  /** Undefined in a process that runs no rules. */
  readonly waiting: readonly WaitingCount[] | undefined;
}

/** Times are Unix milliseconds, by the store's clock. */
export interface CoverageRequest {
  readonly sinceMs: number;
  readonly nowMs: number;
  readonly byService: boolean;
}

/** Backfills of one tenant, or of all. */
export interface BackfillPorts {
  list(page: ListPage): Promise<Listed<Job>>;
  /** Throws a `NotFoundError` for an unknown id, and for a backfill of another tenant. */
  find(id: string): Promise<Job>;
  /** Calls `onChange` with each state of a backfill, until it has ended or the signal is aborted. */
  follow(id: string, onChange: (job: Job) => void, signal: AbortSignal): Promise<void>;
}

export interface StorePorts extends ReadPorts {
  /** Clock of the store, Unix milliseconds. */
  readonly nowMs: () => Promise<number>;
  readonly labels: LabelPorts;
  readonly standings: StandingPorts;
  readonly alerts: AlertPorts;
  readonly markers: MarkerPorts;
  readonly aggregates: AggregatePorts;
  readonly coverage: (request: CoverageRequest) => Promise<CoverageCounts>;
  readonly backfills: BackfillPorts;
  /** Reads a job. Throws a `NotFoundError` for an unknown id, and for a job of another tenant. */
  findJob(id: string): Promise<Job>;
  /** Stores the audit row of a write. Returns the ports of writes, which nobody gets without such a row. */
  openWrites(write: AuditedWrite): Promise<WritePorts>;
}

/** Tables and views that a server of a cluster lacks. */
export interface TableGap {
  /** Host name and port. */
  readonly server: string;
  readonly tables: readonly string[];
}

/** Servers of a cluster, with the tables of the applied migrations. */
export interface ClusterStatus {
  /** Numbers of shards and of servers in the definition of the cluster. */
  readonly shards: number;
  readonly servers: number;
  /** Number of servers that answered. */
  readonly answering: number;
  readonly gaps: readonly TableGap[];
  /** Statements that create what the servers lack. */
  readonly repairs: readonly string[];
  /** Reason for which the statements must not run; undefined when they may. */
  readonly fault: string | undefined;
}

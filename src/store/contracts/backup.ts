/** Number and checksum of the rows of a table. The checksum does not depend on their order. */
export interface TableDigest {
  readonly rows: number;
  readonly checksum: string;
}

/** Facts about a store that a backup needs before it begins. */
export interface BackupSurvey {
  readonly database: string;
  /** Version of the schema. */
  readonly schema: number;
  /** Store's clock, Unix milliseconds. */
  readonly nowMs: number;
  /** Bytes on disk of the tables of a backup, and of the largest of them. */
  readonly bytes: number;
  readonly largestBytes: number;
}

/** Copies of tables in the backups folder of the embedded engine. */
export interface BackupStore {
  survey(): Promise<BackupSurvey>;
  /**
   * Copies every table into a folder, in the order in which a crash would leave them: what says that work was done before the work.
   * @param folder name within the backups folder of the engine
   * @param onTable is called before each table; it may throw to end the backup
   * @returns the digest of each copy, by table
   */
  copy(folder: string, onTable: (table: string) => void): Promise<Readonly<Record<string, TableDigest>>>;
  close(): Promise<void>;
}

/** Tables to restore. */
export interface RestoreSource {
  /** Name within the backups folder of the engine. */
  readonly folder: string;
  /** Database from which the tables were copied. */
  readonly database: string;
  readonly schema: number;
  /** Time at which the backup began, Unix milliseconds by the clock of its store. */
  readonly startedAtMs: number;
  readonly tables: Readonly<Record<string, TableDigest>>;
}

/** Database that a restore fills or repairs. Every step can be repeated from the first one. */
export interface RestoreStore {
  /** Returns `used` for a database with tables, or the mark of the command that has not finished with it. */
  readState(): Promise<string>;
  /** Names the members of scoring and of duties that have not left and whose last beat is at most `ttlMs` old. */
  listLive(ttlMs: number): Promise<readonly string[]>;
  /** Keeps all other processes out of a used database until `finish`. */
  begin(): Promise<void>;
  /** Creates the database with the tables of the backup, and fills them. Throws when rows differ from the backup. */
  load(source: RestoreSource, onTable: (table: string) => void): Promise<void>;
  /**
   * Makes the tables agree, after the schema was updated. Does nothing to a backup of an idle store.
   * @param startedAtMs beginning of the backup, Unix milliseconds by the clock of its store
   * @returns the number of decisions `scored` without their score, which are scored again
   */
  repair(startedAtMs: number): Promise<number>;
  /** Lets every process open the database. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

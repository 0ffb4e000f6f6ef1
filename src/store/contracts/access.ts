/** A write through the API. */
export interface AuditRecord {
  /** Tenant of the sender; '' for all tenants. */
  readonly tenant: string;
  /** Name of the sender's token; '' without tokens. */
  readonly token: string;
  readonly action: string;
  /** Changed things, as `kind:id`. */
  readonly subjects: readonly string[];
}

/** Store of the writes through the API. Rows are only added. */
export interface AuditStore {
  write(record: AuditRecord): Promise<void>;
  /** True when a write of the last 24 hours has the action and the subject. */
  has(action: string, subject: string): Promise<boolean>;
}

/** Store of the key that signs the cookies of browsers. */
export interface CookieKeyStore {
  /** Reads the key, the same for every process. The first call creates it. */
  read(): Promise<string>;
}

/** Message from parent to child, sent once, before any other. */
export interface OpenMessage {
  readonly type: 'open';
  /** Directory of the engine's files. */
  readonly enginePath: string;
  /** Data directory: the spool is here when there is no memory disk. */
  readonly dataDir: string;
  /** 0: any free port. */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly memoryLimitBytes: number;
  /** The module that holds chdb. */
  readonly chdbModule: string;
}

/** Message from parent to child: finish running statements, close, end. */
export interface StopMessage {
  readonly type: 'stop';
}

export type ToChild = OpenMessage | StopMessage;

/**
 * Reason why a child could not start: chdb is missing, another engine has the directory, the engine failed to open it (with
 * its message), the port is in use, or any other reason.
 */
export type FailureReason = 'missing' | 'locked' | 'unopened' | 'port' | 'other';

export interface ReadyMessage {
  readonly type: 'ready';
  readonly port: number;
}

export interface FailedMessage {
  readonly type: 'failed';
  readonly reason: FailureReason;
  readonly message: string;
}

export type ToParent = ReadyMessage | FailedMessage;

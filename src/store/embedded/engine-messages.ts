import type { ReaderAccount } from './readers/reader-account.ts';

/** Parent to child, once, before anything else. */
export interface OpenMessage {
  readonly type: 'open';
  /** The directory of the engine's own files. */
  readonly enginePath: string;
  /** The directory of ours: the spool goes there when there is no memory disk. */
  readonly dataDir: string;
  /** 0: any free port. */
  readonly port: number;
  readonly username: string;
  readonly password: string;
  readonly memoryLimitBytes: number;
  readonly readers: readonly ReaderAccount[];
  /** The module that holds chdb. */
  readonly chdbModule: string;
}

/** Parent to child: finish what runs, close, end. */
export interface StopMessage {
  readonly type: 'stop';
}

export type ToChild = OpenMessage | StopMessage;

/**
 * Reason why a child could not start: chdb is missing, another engine has the directory, the engine did not open it (its
 * message says why), the port is taken, or any other.
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

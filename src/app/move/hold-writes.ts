import { MEMBER_TTL_MS } from '../../ownership/ownership.ts';
import { SECOND_MS } from '../../domain/durations.ts';
import { readErrorMessage, StoreUnavailableError } from '../../domain/errors.ts';
import { sleep } from '../../domain/waits.ts';
import type { WriteLevel } from '../../store/embedded/write-gate.ts';

/** Time for which a hold lasts when this process is killed, and the interval in which it is renewed, milliseconds. */
const HOLD_MS = 30 * SECOND_MS;
const RENEW_EVERY_MS = 5 * SECOND_MS;

/** Time after which every process has noticed that it beats no more and has finished its work, milliseconds. */
const DRAIN_MS = MEMBER_TTL_MS + 5 * SECOND_MS;

/** Address of an embedded engine. */
export interface EngineAccess {
  readonly url: string;
  readonly username: string;
  readonly password: string;
}

/** Hold on the writes of an engine. It ends by itself when it is not renewed. */
export interface WriteHold {
  /** Renews the hold. Throws when it was interrupted: writes may have been accepted. */
  confirm(): Promise<void>;
  /** Accepts all writes again. The hold of a store that was moved stays. */
  release(): Promise<void>;
}

/**
 * Holds the writes of an engine: first new spans and beats, so that processes finish and record what they have begun, for example a
 * delivery; then all writes.
 * @param isShared true when other processes use the engine
 */
export async function holdWrites(
  engine: EngineAccess,
  isShared: boolean,
  signal: AbortSignal,
): Promise<WriteHold> {
  let level: WriteLevel = 'no-new-work';
  let fault: unknown;
  const renew = async (): Promise<void> => {
    // An engine that was started again, or was not reached in time, accepts all writes.
    if ((await order(engine, level)) === 'all') {
      fault ??= new Error('the engine was started again, or did not answer in time');
    }
  };
  await order(engine, level);
  const renewing = setInterval(() => {
    renew().catch((error: unknown) => {
      fault = error;
    });
  }, RENEW_EVERY_MS);
  const release = async (): Promise<void> => {
    clearInterval(renewing);
    await order(engine, 'all');
  };
  try {
    if (isShared) {
      await sleep(DRAIN_MS, signal);
    }
    level = 'none';
    await renew();
  } catch (error) {
    await release();
    throw error;
  }
  return {
    confirm: async () => {
      await renew();
      if (fault !== undefined) {
        throw new StoreUnavailableError(
          `the hold on the writes of this store was interrupted (${readErrorMessage(fault)}): run the move again`,
        );
      }
    },
    release,
  };
}

/** Sets the level of an engine. Returns the level before. */
async function order({ url, username, password }: EngineAccess, writes: WriteLevel): Promise<string> {
  const credentials = Buffer.from(`${username}:${password}`).toString('base64');
  const target = new URL('/control', url);
  target.searchParams.set('writes', writes);
  target.searchParams.set('seconds', String(HOLD_MS / SECOND_MS));
  const reply = await fetch(target, { method: 'POST', headers: { authorization: `Basic ${credentials}` } });
  const text = (await reply.text()).trim();
  if (!reply.ok) {
    throw new StoreUnavailableError(
      `the engine does not hold its writes: ${text}; does an older version of spanscore serve?`,
    );
  }
  return text;
}

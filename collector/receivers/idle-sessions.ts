import type { ServerHttp2Session } from 'node:http2';
import type { CollectorLimits } from '../limits.ts';

/** Time in milliseconds for the peer to close an idle connection from its side. */
const GOODBYE_MS = 1_000;

/**
 * Closes a connection after a time without calls, earlier when it never had one. Pings and endless headers do not keep it open. Calls
 * under way finish first.
 */
export function closeWhenIdle(
  session: ServerHttp2Session,
  limits: Pick<CollectorLimits, 'headersTimeoutMs' | 'keepAliveTimeoutMs'>,
): void {
  let calls = 0;
  const wait = (ms: number): NodeJS.Timeout =>
    setTimeout(() => {
      session.close();
      timer = setTimeout(() => session.destroy(), GOODBYE_MS);
    }, ms);
  let timer = wait(Math.min(limits.headersTimeoutMs, limits.keepAliveTimeoutMs));
  session.on('stream', (stream) => {
    calls++;
    clearTimeout(timer);
    stream.once('close', () => {
      calls--;
      if (calls === 0 && !session.closed) {
        timer = wait(limits.keepAliveTimeoutMs);
      }
    });
  });
  session.once('close', () => clearTimeout(timer));
}

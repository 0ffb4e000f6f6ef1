import type { ServerHttp2Session } from 'node:http2';

/**
 * Tells a connection to go once it has had no call for so long, whatever bytes came meanwhile: pings and headers that never
 * end keep no connection open. Calls under way are finished first.
 */
export function closeWhenIdle(session: ServerHttp2Session, idleMs: number): void {
  let calls = 0;
  const wait = (): NodeJS.Timeout => setTimeout(() => session.close(), idleMs);
  let timer = wait();
  session.on('stream', (stream) => {
    calls++;
    clearTimeout(timer);
    stream.once('close', () => {
      calls--;
      if (calls === 0 && !session.closed) {
        timer = wait();
      }
    });
  });
  session.once('close', () => clearTimeout(timer));
}

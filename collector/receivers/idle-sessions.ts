import type { ServerHttp2Session } from 'node:http2';

/**
 * Closes a connection after a time without calls. Pings and endless headers do not keep it open. Calls under way finish
 * first.
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

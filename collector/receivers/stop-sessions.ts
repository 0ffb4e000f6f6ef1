import type { Http2Server, ServerHttp2Session } from 'node:http2';

/**
 * Watches a server's HTTP/2 connections and returns how to stop it: no new connection, no new call on the open ones; each
 * is closed once its calls are answered, or when the grace time is over.
 */
export function sessionStopper(server: Http2Server): (graceMs: number) => Promise<void> {
  const sessions = new Set<ServerHttp2Session>();
  let stopping = false;
  server.on('session', (session) => {
    sessions.add(session);
    session.on('close', () => sessions.delete(session));
    if (stopping) {
      session.close();
    }
  });
  return async (graceMs) => {
    stopping = true;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      for (const session of sessions) {
        session.close();
      }
      timer = setTimeout(() => {
        for (const session of sessions) {
          session.destroy();
        }
      }, graceMs);
    });
    clearTimeout(timer);
  };
}

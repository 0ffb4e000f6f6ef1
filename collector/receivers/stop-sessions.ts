import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { peerOf } from './stop-server.ts';

/**
 * Watches a server's HTTP/2 connections and returns how to stop it: no new connection, no new call on the open ones; each
 * is closed once its calls are answered, or when the grace time is over. What is no HTTP/2 connection yet is closed at once.
 */
export function sessionStopper(server: Http2Server | Http2SecureServer): (graceMs: number) => Promise<void> {
  const sessions = new Set<ServerHttp2Session>();
  const unready = new Map<string, Socket>();
  let stopping = false;
  // Before the server's own listener, which makes the session at once where there is no TLS.
  server.prependListener('connection', (socket: Socket) => {
    const peer = peerOf(socket);
    unready.set(peer, socket);
    socket.on('close', () => unready.delete(peer));
  });
  server.on('session', (session) => {
    unready.delete(peerOf(session.socket));
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
      for (const socket of unready.values()) {
        socket.destroy();
      }
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

import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { formatPeer } from './stop-server.ts';

/** Time for a peer with no open call to close the connection from its side, milliseconds. */
const GOODBYE_MS = 1_000;

interface Connection {
  readonly socket: Socket;
  /** Absent before HTTP/2 is agreed on. */
  session?: ServerHttp2Session;
  /** Under way. */
  calls: number;
  goodbye?: NodeJS.Timeout;
}

/**
 * Watches a server's HTTP/2 connections and returns how to stop it: no new connection, no new call on the open ones; each
 * is closed once its calls are answered, or when the grace time is over, whether its peer closes it or not. What is no HTTP/2
 * connection yet is closed at once.
 */
export function sessionStopper(server: Http2Server | Http2SecureServer): (graceMs: number) => Promise<void> {
  const open = new Map<string, Connection>();
  let stopping = false;
  const close = (connection: Connection): void => {
    const { socket, session, calls } = connection;
    if (session === undefined) {
      socket.destroy();
      return;
    }
    session.close();
    if (calls === 0) {
      // A closed session only ends its own side of the socket.
      connection.goodbye ??= setTimeout(() => socket.destroy(), GOODBYE_MS);
    }
  };
  // Before the server's own listener, which makes the session at once where there is no TLS.
  server.prependListener('connection', (socket: Socket) => {
    const peer = formatPeer(socket);
    const connection: Connection = { socket, calls: 0 };
    open.set(peer, connection);
    socket.on('close', () => {
      clearTimeout(connection.goodbye);
      if (open.get(peer) === connection) {
        open.delete(peer);
      }
    });
  });
  server.on('session', (session) => {
    const connection = open.get(formatPeer(session.socket));
    if (connection === undefined) {
      session.destroy();
      return;
    }
    connection.session = session;
    session.on('stream', (stream) => {
      connection.calls += 1;
      stream.on('close', () => {
        connection.calls -= 1;
        if (stopping) {
          close(connection);
        }
      });
    });
    if (stopping) {
      close(connection);
    }
  });
  return async (graceMs) => {
    stopping = true;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const connection of open.values()) {
      close(connection);
    }
    const timer = setTimeout(() => open.forEach(({ socket }) => socket.destroy()), graceMs);
    await closed;
    clearTimeout(timer);
  };
}

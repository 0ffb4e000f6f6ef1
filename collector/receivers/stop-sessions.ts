import type { Http2SecureServer, Http2Server, ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import { formatPeer } from '../../src/domain/connection-places.ts';

/** Time in milliseconds for a peer without open calls to close the connection from its side. */
const GOODBYE_MS = 1_000;

interface Connection {
  readonly socket: Socket;
  /** Undefined before HTTP/2 is agreed on. */
  session?: ServerHttp2Session;
  /** Calls under way. */
  calls: number;
  goodbye?: NodeJS.Timeout;
}

/**
 * Watches the HTTP/2 connections of a server. Returns a function that stops it: no new connections, and no new calls on
 * open ones. Each connection is closed once its calls are answered or the grace time is over, even when its peer does not
 * close it. A connection that is not HTTP/2 yet is closed at once.
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
      // A closed session ends only its own side of the socket.
      connection.goodbye ??= setTimeout(() => socket.destroy(), GOODBYE_MS);
    }
  };
  // Must run before the server's own listener, which creates the session at once without TLS.
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

import type { Socket } from 'node:net';
import { deserialize, serialize } from 'node:v8';

/** Bytes of the length before each message. */
const LENGTH_BYTES = 4;

/** Writes a message: its length, then its serialized value. Calls back when the system has taken it, or never will. */
export function writeFrame(channel: Socket, message: unknown, whenDone?: () => void): void {
  const body = serialize(message);
  const length = Buffer.alloc(LENGTH_BYTES);
  length.writeUInt32BE(body.length);
  channel.cork();
  channel.write(length);
  channel.write(body, whenDone);
  channel.uncork();
}

/**
 * Reads messages. The code of a scorer can write any bytes to its descriptor. So bytes that are no message, and a message above the
 * limit, end the reading: `onGarbage` is called, and what follows is dropped.
 */
export function readFrames(
  channel: Socket,
  terms: {
    readonly maxBytes: number;
    readonly onMessage: (message: unknown) => void;
    readonly onGarbage: () => void;
  },
): void {
  let chunks: Buffer[] = [];
  let bytes = 0;
  let needed = LENGTH_BYTES;
  let isBody = false;
  const read = (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    while (bytes >= needed) {
      const all = Buffer.concat(chunks, bytes);
      const part = all.subarray(0, needed);
      chunks = [all.subarray(needed)];
      bytes -= needed;
      needed = isBody ? LENGTH_BYTES : part.readUInt32BE();
      const message = isBody ? deserializeSafely(part) : undefined;
      if (needed > terms.maxBytes || (isBody && message === undefined)) {
        channel.off('data', read).resume();
        chunks = [];
        terms.onGarbage();
        return;
      }
      if (message !== undefined) {
        terms.onMessage(message.value);
      }
      isBody = !isBody;
    }
  };
  channel.on('data', read);
}

function deserializeSafely(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: deserialize(bytes) };
  } catch {
    return undefined;
  }
}

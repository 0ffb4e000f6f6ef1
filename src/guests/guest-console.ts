import type { Readable } from 'node:stream';
import { SECOND_MS } from '../domain/durations.ts';

/** Longest logged line; the rest of a longer line is left out. */
const MAX_LINE_CHARS = 2_000;

/** Most logged lines a second; further lines are only counted. */
const MAX_LINES = 20;

/** Most bytes read a second; a process that prints more waits until the next second. */
const MAX_BYTES = 1024 * 1024;

/** Reads the output of a process line by line, at a rate that costs the reader little. */
export function readConsole(stream: Readable, onLine: (line: string) => void): void {
  let rest = '';
  let bytes = 0;
  let lines = 0;
  let dropped = 0;
  let second: NodeJS.Timeout | undefined;

  function tell(line: string): void {
    lines += 1;
    if (lines > MAX_LINES) {
      dropped += 1;
    } else if (line.trim() !== '') {
      onLine(line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line);
    }
  }

  function startSecond(): void {
    second ??= setTimeout(() => {
      if (dropped > 0) {
        onLine(`(${dropped} more lines)`);
      }
      second = undefined;
      bytes = lines = dropped = 0;
      stream.resume();
    }, SECOND_MS).unref();
  }

  stream.setEncoding('utf8');
  stream.on('data', (text: string) => {
    startSecond();
    bytes += text.length;
    const pieces = (rest + text).split('\n');
    rest = (pieces.pop() ?? '').slice(0, MAX_LINE_CHARS + 1);
    pieces.forEach(tell);
    if (bytes > MAX_BYTES) {
      stream.pause();
    }
  });
  stream.on('end', () => {
    if (rest !== '') {
      tell(rest);
    }
  });
}

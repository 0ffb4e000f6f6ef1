import { cleanText, safeJson } from './clean-text.ts';

/** Writable text stream, like `process.stdout`. */
export interface TextSink {
  write(text: string): boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
}

/**
 * Output of a command: data to stdout, messages to stderr. With `json`, data is JSON: one document, or one line for each
 * item.
 */
export interface Output {
  readonly json: boolean;
  /** Prints one item of a list or a stream. Waiting for it slows a producer down to the speed of the reader. */
  item(value: unknown, asText: () => string): Promise<void>;
  /** Prints the one result of a command. */
  document(value: unknown, asText: () => string): Promise<void>;
  /** Prints data for people; prints nothing with `json`. */
  text(text: string): Promise<void>;
  /** Prints a message to stderr. */
  talk(message: string): void;
}

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
}

export function createOutput(options: OutputOptions): Output {
  const { json, stdout, stderr } = options;
  const write = async (text: string) => {
    if (!stdout.write(text.endsWith('\n') ? text : `${text}\n`)) {
      await new Promise<void>((resolve) => {
        stdout.once('drain', resolve);
        stdout.once('close', resolve);
      });
    }
  };
  return {
    json,
    item: async (value, asText) => write(json ? safeJson(value) : cleanText(asText())),
    document: async (value, asText) => write(json ? safeJson(value) : cleanText(asText())),
    text: async (text) => (json ? undefined : write(cleanText(text))),
    talk: (message) => void stderr.write(`${cleanText(message)}\n`),
  };
}

/** Aligns columns of text; the last column has no padding. */
export function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headers.map((header, column) =>
    Math.max(header.length, ...rows.map((row) => (row[column] ?? '').length)),
  );
  const formatLine = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ');
  return [headers, ...rows].map((cells) => formatLine(cells).trimEnd()).join('\n');
}

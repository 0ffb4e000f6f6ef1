import { cleanText, safeJson } from './clean-text.ts';

/** Something to write on; what `process.stdout` is. */
export interface TextSink {
  write(text: string): boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Data goes to stdout, talk to stderr. With `json`, data is JSON: one document, or one line an item. */
export interface Output {
  readonly json: boolean;
  /** One item of a list or a stream. Wait for it: that is what holds back a producer faster than its reader. */
  item(value: unknown, asText: () => string): Promise<void>;
  /** The one result of a command. */
  document(value: unknown, asText: () => string): Promise<void>;
  /** Data for people only: left out with `json`. */
  text(text: string): Promise<void>;
  /** Said to the person at the terminal; never data. */
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

/** Columns of text, aligned; the last one is left as long as it is. */
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

import { cleanText, escapeUnsafe, safeJson } from './clean-text.ts';

/** Writable text stream, like `process.stdout`. */
export interface TextSink {
  write(text: string | Uint8Array): boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
  /** True for a terminal, which has a width. */
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
}

/**
 * Output of a command: data to stdout, messages to stderr. With `json`, data is JSON: one document, or one line for each
 * item.
 */
export interface Output {
  readonly json: boolean;
  /** Prints one item of a list or a stream. Waiting for it slows a producer down to the speed of the reader. */
  item(value: unknown, asText: () => string): Promise<void>;
  /** Prints a list: with `json` one line for each item, else a text about all. Without items, prints only `none`, to stderr. */
  list(items: readonly unknown[], asText: () => string, none?: string): Promise<void>;
  document(value: unknown, asText: () => string): Promise<void>;
  /** Prints data for people; prints nothing with `json`. */
  text(text: string): Promise<void>;
  /** Prints a part of a document, also with `json`: as it is, but on a terminal with escaped control characters. */
  raw(part: string | Uint8Array): Promise<void>;
  talk(message: string): void;
  /** Shows how far the work is, on stderr: on one line of a terminal, else on a line now and then. */
  progress(message: string): void;
}

/** Least time between two lines of progress where there is no terminal, milliseconds. */
const PROGRESS_EVERY_MS = 10_000;

/** Events of a reader that was too slow: it goes on, or it has gone. */
const ENDINGS = ['drain', 'close'] as const;

/** Width of a terminal that does not say it. */
const DEFAULT_COLUMNS = 80;

/** Sets the cursor of a terminal to the begin of its line, and empties the line. */
const CLEAR_LINE = '\r\u{1b}[2K';

export interface OutputOptions {
  readonly json: boolean;
  readonly stdout: TextSink;
  readonly stderr: TextSink;
}

export function createOutput(options: OutputOptions): Output {
  const { json, stdout, stderr } = options;
  const decoder = new TextDecoder();
  let hasOpenLine = false;
  let shownMs = Number.NEGATIVE_INFINITY;
  const endLine = () => {
    if (hasOpenLine) {
      stderr.write('\n');
      hasOpenLine = false;
    }
  };
  const write = (text: string) => writeRaw(text.endsWith('\n') ? text : `${text}\n`);
  const writeRaw = async (text: string | Uint8Array) => {
    endLine();
    if (!stdout.write(text)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const go = () => resolve();
      ENDINGS.forEach((event) => stdout.once(event, go));
      await promise;
      ENDINGS.forEach((event) => stdout.off(event, go));
    }
  };
  const talk = (message: string) => {
    endLine();
    stderr.write(`${cleanText(message)}\n`);
  };
  return {
    json,
    item: async (value, asText) => write(json ? safeJson(value) : cleanText(asText())),
    list: async (items, asText, none) => {
      for (const item of json ? items : []) {
        await write(safeJson(item));
      }
      if (!json && items.length > 0) {
        await write(cleanText(asText()));
      }
      if (items.length === 0 && none !== undefined) {
        talk(none);
      }
    },
    document: async (value, asText) => write(json ? safeJson(value) : cleanText(asText())),
    text: async (text) => (json ? undefined : write(cleanText(text))),
    raw: (part) => {
      const text = () => (typeof part === 'string' ? part : decoder.decode(part, { stream: true }));
      return writeRaw(stdout.isTTY === true ? escapeUnsafe(text()) : part);
    },
    talk,
    progress: (message) => {
      const text = cleanText(message);
      if (stderr.isTTY === true) {
        hasOpenLine = true;
        stderr.write(CLEAR_LINE + text.slice(0, (stderr.columns ?? DEFAULT_COLUMNS) - 1));
      } else if (performance.now() - shownMs >= PROGRESS_EVERY_MS) {
        shownMs = performance.now();
        stderr.write(`${text}\n`);
      }
    },
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

/** Formats items as a table. A column has a head, and returns the cell of an item. */
export function tableOf<Item>(
  items: readonly Item[],
  columns: Readonly<Record<string, (item: Item) => string | number>>,
): string {
  const cells = Object.values(columns);
  return table(
    Object.keys(columns),
    items.map((item) => cells.map((cell) => String(cell(item)))),
  );
}

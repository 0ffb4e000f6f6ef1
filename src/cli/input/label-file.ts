import { createReadStream } from 'node:fs';
import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { NewLabel } from '../../api/resources/labels.ts';
import { checkValue } from '../../config/index.ts';
import { MIB } from '../../domain/byte-sizes.ts';
import { protectCell, unprotectCell, decodeText } from '../../domain/text-encoding.ts';
import { InvalidInputError, readErrorMessage } from '../../domain/errors.ts';
import type { CommandContext } from '../command.ts';
import { findInputFile } from './input-file.ts';

export const LABEL_FORMATS = ['csv', 'ndjson'] as const;
export type LabelFormat = (typeof LABEL_FORMATS)[number];

/** Largest file of labels, bytes: it is read as a whole. */
const MAX_FILE = 64 * MIB;

export interface FileLabel {
  /** Undefined for the tenant of the command. */
  readonly tenant: string | undefined;
  readonly label: z.output<typeof NewLabel>;
}

/** Line of a file: a label, or the reason why it is none. */
export type LabelLine = { readonly line: number } & (FileLabel | { readonly fault: string });

/** Reads the text of a file (`-`: stdin). Throws a `NotFoundError` for no file, and an `InvalidInputError` for one that is too large. */
export async function readLabelText(
  name: string,
  { cwd, stdin }: Pick<CommandContext, 'cwd' | 'stdin'>,
): Promise<string> {
  const path = name === '-' ? undefined : await findInputFile(cwd, name);
  const parts: Buffer[] = [];
  let size = 0;
  for await (const chunk of path === undefined ? stdin : createReadStream(path)) {
    const bytes = Buffer.from(chunk);
    size += bytes.byteLength;
    if (size > MAX_FILE) {
      throw new InvalidInputError(`${path ?? 'stdin'} is larger than ${MAX_FILE / MIB} MiB; split it`);
    }
    parts.push(bytes);
  }
  return decodeText(Buffer.concat(parts));
}

/** Guesses the format of a file by its name, then by its first character. */
export function guessFormat(name: string, text: string): LabelFormat {
  if (/\.csv$/iu.test(name)) {
    return 'csv';
  }
  return /\.(ndjson|jsonl)$/iu.test(name) || text.trimStart().startsWith('{') ? 'ndjson' : 'csv';
}

/** Parses the lines of a file. A line that is no label comes with its fault, and the others come all the same. */
export function parseLabels(text: string, format: LabelFormat): LabelLine[] {
  return format === 'csv' ? parseCsv(text) : parseNdjson(text);
}

function parseNdjson(text: string): LabelLine[] {
  return text.split('\n').flatMap((content, index): LabelLine[] => {
    if (content.trim() === '') {
      return [];
    }
    const line = index + 1;
    try {
      return [{ line, ...checkLine(JSON.parse(content)) }];
    } catch (error) {
      return [{ line, fault: readErrorMessage(error) }];
    }
  });
}

function parseCsv(text: string): LabelLine[] {
  const broken: LabelLine[] = [];
  const records = parse(text, {
    columns: true,
    info: true,
    skip_empty_lines: true,
    skip_records_with_error: true,
    on_skip: (error) => {
      broken.push({ line: Number(error?.['lines'] ?? 0), fault: readErrorMessage(error) });
      return undefined;
    },
  }) as unknown as { record: Record<string, string>; info: { lines: number } }[];
  const read = records.map(({ record, info: { lines: line } }): LabelLine => {
    try {
      return { line, ...checkLine(convertCells(record)) };
    } catch (error) {
      return { line, fault: readErrorMessage(error) };
    }
  });
  return [...read, ...broken].toSorted((a, b) => a.line - b.line);
}

/** Converts the cells of a record: an empty cell is absent. */
function convertCells(record: Readonly<Record<string, string>>): Record<string, unknown> {
  const filled = Object.entries(record).filter(([, cell]) => cell !== '');
  return Object.fromEntries(filled.map(([name, cell]) => [name, convertCell(name, cell)]));
}

function convertCell(name: string, cell: string): unknown {
  if (name === 'score') {
    return DECIMAL.test(cell.trim()) ? Number(cell) : cell;
  }
  if (name === 'passes') {
    return { true: true, false: false }[cell.toLowerCase()] ?? cell;
  }
  return unprotectCell(cell);
}

/** Decimal number, as programs and spreadsheets write it. */
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/iu;

function checkLine(value: unknown): FileLabel {
  const record = checkValue(FileFields, value);
  const { tenant, labelledAt: _, ...label } = record;
  return { tenant, label: checkValue(NewLabel, label) };
}

/** Fields of a line beside those of a label. The time of a label is that of its import. */
const FileFields = z.looseObject({ tenant: z.string().optional(), labelledAt: z.string().optional() });

const COLUMNS = [
  'tenant',
  'traceId',
  'spanId',
  'sessionId',
  'scorer',
  'score',
  'label',
  'note',
  'reviewer',
  'labelledAt',
] as const;

/** Label as a line of an exported file; absent fields are empty. */
export type ExportedLabel = Readonly<Record<(typeof COLUMNS)[number], string | number>>;

export const CSV_HEAD = COLUMNS.join(',');

/** Formats a label as a line of CSV. No spreadsheet computes a cell of it, unless it is raw. */
export function formatCsv(label: ExportedLabel, isRaw = false): string {
  return COLUMNS.map((name) => formatCell(label[name], isRaw)).join(',');
}

function formatCell(cell: string | number, isRaw: boolean): string {
  if (typeof cell === 'number') {
    return String(cell);
  }
  const safe = isRaw ? cell : protectCell(cell);
  return /[",\r\n]/u.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Formats a label as a line of JSON, without its empty fields. */
export function formatNdjson(label: ExportedLabel): string {
  return JSON.stringify(Object.fromEntries(Object.entries(label).filter(([, value]) => value !== '')));
}

import type { Attributes, LogRecord, Span } from '../../src/domain/trace/span.ts';
import type { RowLimits } from '../limits.ts';

/** Limit of cut attributes named in a row, and limit of characters of an attribute key in a name. */
const MAX_NAMES = 32;
const MAX_KEY_CHARS = 200;

/** Position in the recorded cuts: number of bytes and names. */
interface CutsMark {
  readonly bytes: number;
  readonly names: number;
}

/** Cuts the parts of a row above the limits, and records the cuts. */
export class Cuts {
  readonly limits: RowLimits;
  /** Bytes of text cut since `begin`. */
  bytes = 0;
  #names = new Set<string>();

  constructor(limits: RowLimits) {
    this.limits = limits;
  }

  /** Begins a row; `before` has the cuts of the parts shared with other rows. */
  begin(before?: Cuts): void {
    this.bytes = before?.bytes ?? 0;
    this.#names = new Set(before === undefined ? [] : before.#names);
  }

  /** Records a cut in a column, or in the value of one attribute of the column. */
  note(column: string, bytes = 0, key?: string): void {
    this.bytes += bytes;
    if (key === undefined || this.#names.size < MAX_NAMES) {
      this.#names.add(key === undefined ? column : `${column}.${key.slice(0, MAX_KEY_CHARS).toWellFormed()}`);
    }
  }

  /** Returns the position in the recorded cuts, for `takeBack`. */
  mark(): CutsMark {
    return { bytes: this.bytes, names: this.#names.size };
  }

  /** Forgets the cuts recorded since the mark, because that part is written again. */
  takeBack({ bytes, names }: CutsMark): void {
    this.bytes = bytes;
    [...this.#names].slice(names).forEach((name) => this.#names.delete(name));
  }

  /** Names of the cuts, sorted: `SpanAttributes` for removed attributes, `SpanAttributes.<key>` for a shortened value. */
  names(): readonly string[] {
    return this.#names.size === 0 ? [] : [...this.#names].toSorted();
  }

  /** Cuts a text to `maxTextBytes`, never within a character. */
  text(text: string, column: string, key?: string): string {
    const { maxTextBytes } = this.limits;
    if (text.length * 3 <= maxTextBytes) {
      return text;
    }
    const bytes = Buffer.from(text);
    if (bytes.length <= maxTextBytes) {
      return text;
    }
    this.note(column, bytes.length - maxTextBytes, key);
    return bytes.toString('utf8', 0, characterBorder(bytes, maxTextBytes));
  }

  /**
   * Keeps the first `maxAttributes` attributes and cuts values to `maxTextBytes`. Returns the same Map when nothing is cut.
   */
  attributes(attributes: Attributes, column: string): Attributes {
    const { maxAttributes, maxTextBytes } = this.limits;
    const isMany = attributes.size > maxAttributes;
    if (!isMany && [...attributes.values()].every((value) => value.length * 3 <= maxTextBytes)) {
      return attributes;
    }
    if (isMany) {
      this.note(column);
    }
    const kept = [...attributes].slice(0, maxAttributes);
    return new Map(kept.map(([key, value]) => [key, this.text(value, column, key)]));
  }

  /** Keeps the first `max` items of a list. */
  list<T>(items: readonly T[], max: number, column: string): readonly T[] {
    if (items.length <= max) {
      return items;
    }
    this.note(column);
    return items.slice(0, max);
  }
}

/** Returns the last position up to `end` at which a UTF-8 character begins. */
function characterBorder(bytes: Uint8Array, end: number): number {
  let border = end;
  while (border > 0 && ((bytes[border] ?? 0) & 0xc0) === 0x80) {
    border--;
  }
  return border;
}

/** Cuts the parts that a row shares with others. */
function cutShared<T extends Pick<Span, 'serviceName' | 'resourceAttributes' | 'scopeName' | 'scopeVersion'>>(
  cuts: Cuts,
  of: T,
): T {
  return {
    ...of,
    serviceName: cuts.text(of.serviceName, 'ServiceName'),
    resourceAttributes: cuts.attributes(of.resourceAttributes, 'ResourceAttributes'),
    scopeName: cuts.text(of.scopeName, 'ScopeName'),
    scopeVersion: cuts.text(of.scopeVersion, 'ScopeVersion'),
  };
}

/** Returns a span within the limits. */
export function cutSpan(cuts: Cuts, span: Span): Span {
  const { maxEvents, maxLinks } = cuts.limits;
  return {
    ...cutShared(cuts, span),
    traceState: cuts.text(span.traceState, 'TraceState'),
    name: cuts.text(span.name, 'SpanName'),
    attributes: cuts.attributes(span.attributes, 'SpanAttributes'),
    statusMessage: cuts.text(span.statusMessage, 'StatusMessage'),
    events: cuts.list(span.events, maxEvents, 'Events').map((event) => ({
      ...event,
      name: cuts.text(event.name, 'Events.Name'),
      attributes: cuts.attributes(event.attributes, 'Events.Attributes'),
    })),
    links: cuts.list(span.links, maxLinks, 'Links').map((link) => ({
      ...link,
      traceState: cuts.text(link.traceState, 'Links.TraceState'),
      attributes: cuts.attributes(link.attributes, 'Links.Attributes'),
    })),
  };
}

/** Returns a log record within the limits. */
export function cutLog(cuts: Cuts, log: LogRecord): LogRecord {
  return {
    ...cutShared(cuts, log),
    severityText: cuts.text(log.severityText, 'SeverityText'),
    body: cuts.text(log.body, 'Body'),
    attributes: cuts.attributes(log.attributes, 'LogAttributes'),
    eventName: cuts.text(log.eventName, 'EventName'),
  };
}

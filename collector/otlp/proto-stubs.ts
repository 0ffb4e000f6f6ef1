import { AGENT_SIGNALS } from '../../src/conventions/agent-signals.ts';
import { type AgentSignals, looksLikeAgent } from '../../src/domain/trace/agent-signals.ts';
import { isKeptEvent, isKeptKey, STUB_MARK } from '../../src/conventions/kept-content.ts';
import type { Cuts } from './cuts.ts';
import type { ProtoReader } from './proto-reader.ts';
import { type SpanScan, SPAN_TEXT, createPartScan, scanPart } from './proto-span-scan.ts';
import { createKeyValueScan, readText, scanKeyValue } from './proto-values.ts';
import type { RangeList } from './range-list.ts';

const pair = createKeyValueScan();
const part = createPartScan();

/** Like `hasUsefulContent`, for a scanned span that is not decoded. */
export function isUsefulSpan(
  reader: ProtoReader,
  {
    scopeName,
    span,
    signals = AGENT_SIGNALS,
  }: { scopeName: string; span: SpanScan; signals?: AgentSignals | undefined },
): boolean {
  const eventNames = [...listEventNames(reader, span.events)];
  return (
    eventNames.some(isKeptEvent) ||
    looksLikeAgent({ scopeName, attributeKeys: listKeys(reader, span.attributes), eventNames }, signals)
  );
}

/** Like `buildStub`: removes all fields but the position in the tree from a scanned span. */
export function keepPlaceOnly(reader: ProtoReader, span: SpanScan, cuts: Cuts): void {
  cuts.note(STUB_MARK);
  const { at, count } = span.attributes;
  let kept = 0;
  for (let i = 0; i < count; i++) {
    const [start, end] = [at[i * 2] as number, at[i * 2 + 1] as number];
    if (isKeptKey(keyAt(reader, start, end))) {
      at[kept * 2] = start;
      at[kept * 2 + 1] = end;
      kept++;
    }
  }
  span.attributes.count = kept;
  span.events.count = 0;
  span.links.count = 0;
  span.droppedAttributes = 0;
  span.text[SPAN_TEXT.traceState * 2 + 1] = span.text[SPAN_TEXT.traceState * 2] as number;
}

function* listKeys(reader: ProtoReader, list: RangeList): Generator<string> {
  for (let i = 0; i < list.count; i++) {
    yield keyAt(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number);
  }
}

function keyAt(reader: ProtoReader, start: number, end: number): string {
  scanKeyValue(reader, start, end, pair);
  return readText(reader, pair.keyStart, pair.keyEnd);
}

function* listEventNames(reader: ProtoReader, list: RangeList): Generator<string> {
  for (let i = 0; i < list.count; i++) {
    scanPart(reader, list.at[i * 2] as number, list.at[i * 2 + 1] as number, 3, part);
    yield readText(reader, part.text[4] as number, part.text[5] as number);
  }
}

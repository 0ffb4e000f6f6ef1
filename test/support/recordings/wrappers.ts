import { readFileSync } from 'node:fs';
import type { TraceData } from '../../../src/domain/trace/span.ts';
import { buildLog, buildSpan, buildTrace } from '../builders/spans.ts';

/** Facts of the only run of a trace; absent facts are not compared. */
interface ExpectedFacts {
  question?: string;
  answer?: string;
  /** Calls as `name arguments → result`. */
  calls?: string[];
  models?: string[];
  tokens?: [input: number, output: number];
  agent?: string;
  session?: string;
  documents?: string[];
}

/** A trace of a wrapper that no rule names, and what it says. */
export interface Wrapper extends ExpectedFacts {
  trace: TraceData;
}

/** A case of a file in `test/fixtures/by-shape`. Spans start in their order, 20 ms apart. */
interface Written {
  expected: ExpectedFacts;
  spans: [
    id: string,
    parent: string | null,
    name: string,
    keys?: Record<string, unknown>,
    events?: [name: string, keys: Record<string, string>][],
  ][];
  logs?: [span: string, event: string, body: string, at: number, scope?: string][];
}

function buildWrapper({ expected, spans, logs = [] }: Written): Wrapper {
  const rows = spans.map(([id, parent, name, keys = {}, events = []], index) =>
    buildSpan(id, keys, {
      name,
      scope: 'shop.runtime',
      at: index * 20,
      lasts: parent === null ? 1000 : 15,
      ...(parent === null ? {} : { parent }),
      events: events.map(([eventName, attributes], place) => ({
        timeUnixNano: BigInt(1_795_244_718_000_000_000 + index * 20_000_000 + place),
        name: eventName,
        attributes: new Map(Object.entries(attributes)),
      })),
    }),
  );
  const records = logs.map(([span, event, body, at, scopeName = 'test']) => ({
    ...buildLog(span, event, {}, at),
    body,
    scopeName,
  }));
  return { ...expected, trace: buildTrace(rows, records) };
}

function readWrappers(file: string): Readonly<Record<string, Wrapper>> {
  const url = new URL(`../../fixtures/by-shape/${file}.json`, import.meta.url);
  const written = Object.entries(JSON.parse(readFileSync(url, 'utf8')) as Record<string, Written>);
  return Object.fromEntries(written.map(([line, each]) => [line, buildWrapper(each)]));
}

/** Wrappers by one line that describes them. */
export const WRAPPERS = readWrappers('wrappers');

/**
 * Emitters that were described in one line each, then written, then read once: the first reading of these is the figure in
 * `docs/conventions.md`.
 */
export const STRANGERS = readWrappers('strangers');

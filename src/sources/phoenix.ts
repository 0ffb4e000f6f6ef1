import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { KindOptions } from '../config/schema/sources.ts';
import { bearerHeader } from '../delivery/http/ask-tool.ts';
import { type ForeignLabel, type LabelReader, readLabelScore } from '../labels/import-labels.ts';
import {
  type AskJson,
  type Batch,
  buildRequest,
  createAskJson,
  OWN_ID,
  type SourceReader,
} from './source.ts';

/** Spans of a page. */
const PAGE = 100;

const NS_PER_MS = 1_000_000n;

const Span = z.looseObject({
  trace_id: z.string(),
  span_id: z.string(),
  start_time_unix_nano: z.union([z.string(), z.number()]),
  attributes: z.array(z.looseObject({ key: z.string(), value: z.unknown() })).default([]),
});
type Span = z.infer<typeof Span>;

const Page = z.object({ data: z.array(Span), next_cursor: z.string().optional() });

/** Place in a project: the spans of the newest page at the last end, and of a way down that has not ended its head and its next page. */
const Cursor = z.object({
  newest: z.array(z.string()),
  sweep: z.object({ top: z.array(z.string()), at: z.string() }).optional(),
});

/**
 * Creates the reader of a project in Phoenix. Phoenix pages from the newest span backwards: each look goes down to a span that the last one
 * has seen. A way down that a kill cut off goes on where it was.
 * @param sinceMs start of the oldest span of a new source, Unix milliseconds
 */
export function createPhoenixReader(
  { endpoint, apiKey, project }: KindOptions<'phoenix'>,
  sinceMs: number,
): SourceReader {
  const ask = createPhoenixAsk({ endpoint, apiKey });
  const path = `/v1/projects/${encodeURIComponent(project)}/spans/otlpv1?limit=${PAGE}`;
  return {
    async *pull(cursors, signal): AsyncGenerator<Batch> {
      const stored = Cursor.safeParse(cursors.get(''));
      let { newest, sweep } = stored.success ? stored.data : { newest: [], sweep: undefined };
      const seen = new Set(newest);
      const oldest = seen.size > 0 ? 0n : BigInt(sinceMs) * NS_PER_MS;
      for (let isEnd = false; !isEnd;) {
        const at = sweep === undefined ? '' : `&cursor=${encodeURIComponent(sweep.at)}`;
        const { data, next_cursor: next } = await ask(Page, 'GET', `${path}${at}`, { signal });
        const keys = data.map(hashKey);
        const top = sweep?.top ?? keys;
        const recent = data.filter((span) => BigInt(span.start_time_unix_nano) >= oldest);
        const fresh = recent.filter((span) => !seen.has(hashKey(span)));
        isEnd = next === undefined || recent.length === 0 || keys.some((key) => seen.has(key));
        sweep = isEnd || next === undefined ? undefined : { top, at: next };
        newest = isEnd && top.length > 0 ? top : newest;
        // Phoenix keeps no resource: the project takes the place of the service.
        const requests = fresh.length === 0 ? [] : [buildRequest(fresh.map(toSpan), project)];
        yield { requests, cursor: { newest, sweep } };
      }
    },
  };
}

function createPhoenixAsk({
  endpoint,
  apiKey,
}: Pick<KindOptions<'phoenix'>, 'endpoint' | 'apiKey'>): AskJson {
  return createAskJson('phoenix', endpoint, bearerHeader(apiKey));
}

/** The store keeps no id of a trace in a cursor, which erasure would not find. */
function hashKey({ trace_id: traceId, span_id: spanId }: Span): string {
  return createHash('sha256').update(`${traceId} ${spanId}`).digest('base64url').slice(0, 16);
}

function toSpan(span: Span): object {
  return { ...span, attributes: joinLists(joinTexts(span.attributes)) };
}

/** Attributes that Phoenix reads as JSON and flattens into `x.key`. */
const JSON_TEXTS =
  /^(metadata|tool\.parameters|llm\.prompt_template\.variables|.*document\.metadata)\.(.+)$/u;

/** Makes flattened attributes the JSON text again that an instrumentation sent. */
function joinTexts(attributes: Span['attributes']): Span['attributes'] {
  const texts = new Map<string, Record<string, unknown>>();
  const rest = attributes.filter(({ key, value }) => {
    const [, name, member = ''] = JSON_TEXTS.exec(key) ?? [];
    if (name !== undefined) {
      const members = texts.get(name) ?? {};
      members[member] = plainValue(value);
      texts.set(name, members);
    }
    return name === undefined;
  });
  const joined = [...texts].map(([key, members]) => ({ key, value: JSON.stringify(members) }));
  return [...rest, ...joined];
}

/** Returns the value of an `AnyValue` with one member. */
function plainValue(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? Object.values(value)[0] : value;
}

/** Phoenix flattens lists of plain values into `x.0`, `x.1`: they become a list again. */
function joinLists(attributes: Span['attributes']): object[] {
  const lists = new Map<string, unknown[]>();
  const joined: object[] = [];
  for (const { key, value } of attributes) {
    const [, name = '', index] = /^(.+)\.(\d+)$/u.exec(key) ?? [];
    const list = lists.get(name) ?? [];
    if (index === undefined || Number(index) !== list.length) {
      joined.push({ key, value });
      continue;
    }
    if (list.length === 0) {
      lists.set(name, list);
      joined.push({ key: name, value: { arrayValue: { values: list } } });
    }
    list.push(value);
  }
  return joined;
}

/** Most ids of a request for annotations. */
const IDS = 50;

const Annotations = z.object({
  data: z
    .array(
      z.looseObject({
        name: z.string(),
        annotator_kind: z.string(),
        user_id: z.string().optional(),
        identifier: z.string().optional(),
        result: z
          .looseObject({
            score: z.number().optional(),
            label: z.string().optional(),
            explanation: z.string().optional(),
          })
          .optional(),
        metadata: z.record(z.string(), z.unknown()).optional(),
        trace_id: z.string().optional(),
        span_id: z.string().optional(),
      }),
    )
    .default([]),
  next_cursor: z.string().optional(),
});
type Annotation = z.infer<typeof Annotations>['data'][number];

/** Creates the reader of the annotations of people in a project. */
export function createPhoenixLabels({ endpoint, apiKey, project }: KindOptions<'phoenix'>): LabelReader {
  const ask = createPhoenixAsk({ endpoint, apiKey });
  const path = `/v1/projects/${encodeURIComponent(project)}`;

  async function read(kind: 'trace' | 'span', ids: readonly string[], signal: AbortSignal) {
    const found: Annotation[] = [];
    for (let at = 0; at < ids.length; at += IDS) {
      let next: string | undefined = '';
      while (next !== undefined) {
        const query = new URLSearchParams(
          ids.slice(at, at + IDS).map((id): [string, string] => [`${kind}_ids`, id]),
        );
        query.set('limit', '1000');
        if (next !== '') {
          query.set('cursor', next);
        }
        const page: z.infer<typeof Annotations> = await ask(
          Annotations,
          'GET',
          `${path}/${kind}_annotations?${query.toString()}`,
          { signal, mayMiss: isOfIds },
        );
        found.push(...page.data);
        next = page.next_cursor;
      }
    }
    return found;
  }

  return {
    kind: 'phoenix',
    async read(traces, signal) {
      const spans = new Map(
        traces.flatMap(({ traceId, spanIds }) => spanIds.map((id) => [id, traceId] as const)),
      );
      const found = [
        ...(await read(
          'trace',
          traces.map(({ traceId }) => traceId),
          signal,
        )),
        ...(await read('span', [...spans.keys()], signal)),
      ];
      return found.flatMap((each) => toLabel(each, spans.get(each.span_id ?? '')));
    },
  };
}

/** Returns true for a reply that says that none of the ids is known, and false for an unknown project. */
function isOfIds(reply: string): boolean {
  return !/^\W*project/iu.test(reply);
}

function toLabel(annotation: Annotation, traceOfSpan: string | undefined): ForeignLabel[] {
  const { name, annotator_kind: kind, result = {}, metadata = {}, ...from } = annotation;
  const score = readLabelScore(result.score ?? result.label);
  const traceId = from.trace_id ?? traceOfSpan;
  const isOurs = OWN_ID in metadata;
  return kind !== 'HUMAN' || isOurs || score === undefined || traceId === undefined
    ? []
    : [
        {
          traceId,
          spanId: from.span_id ?? '',
          scorer: name,
          score,
          label: result.label ?? '',
          reason: result.explanation ?? '',
          author: from.user_id ?? from.identifier ?? '',
        },
      ];
}

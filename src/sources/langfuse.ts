import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { KindOptions } from '../config/schema/sources.ts';
import { DAY_MS, HOUR_MS } from '../domain/durations.ts';
import { basicHeader } from '../delivery/http/ask-tool.ts';
import { type ForeignLabel, type LabelReader, readLabelScore } from '../labels/import-labels.ts';
import {
  type AskJson,
  type Batch,
  buildRequest,
  createAskJson,
  OWN_ID,
  type SourceReader,
} from './source.ts';

/** Observations of a page. */
const PAGE = 200;

/** Time before the last look that each look reads again, milliseconds: observations come up to so late, and change until they end. */
const OVERLAP_MS = 30 * 60_000;

const text = z.string().optional();

const Observation = z.looseObject({
  id: z.string(),
  traceId: text,
  parentObservationId: text,
  type: z.string(),
  name: text,
  startTime: z.string(),
  endTime: text,
  updatedAt: text,
  level: text,
  statusMessage: text,
  version: text,
  environment: text,
  userId: text,
  sessionId: text,
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  metadata: z.unknown().optional(),
  providedModelName: text,
  model: text,
  usageDetails: z.record(z.string(), z.number()).optional(),
});
type Observation = z.infer<typeof Observation>;

const Page = z.object({
  data: z.array(Observation),
  meta: z.object({ cursor: text }).optional(),
});

const Cursor = z.object({ untilMs: z.number() });

function createLangfuseAsk({ endpoint, publicKey, secretKey }: KindOptions<'langfuse'>): AskJson {
  return createAskJson('langfuse', endpoint, basicHeader(publicKey, secretKey));
}

/**
 * Creates the reader of a project in Langfuse. It reads hour after hour, and at each look the last while once more for new and changed
 * observations.
 * @param sinceMs start of the oldest observation of a new source, Unix milliseconds
 */
export function createLangfuseReader(options: KindOptions<'langfuse'>, sinceMs: number): SourceReader {
  const ask = createLangfuseAsk(options);
  const read = new Map<string, string>();

  async function* readHour(fromMs: number, toMs: number, signal: AbortSignal): AsyncGenerator<Batch> {
    for (let cursor: string | undefined = '', isFirst = true; cursor !== undefined; isFirst = false) {
      const query = new URLSearchParams({
        fields: 'core,basic,time,io,metadata,model,usage,trace_context',
        limit: String(PAGE),
        fromStartTime: new Date(fromMs).toISOString(),
        toStartTime: new Date(toMs).toISOString(),
        ...(isFirst ? {} : { cursor }),
      });
      const page = await ask(Page, 'GET', `/api/public/v2/observations?${query.toString()}`, { signal });
      const changed = page.data.filter(
        (each) => each.traceId !== undefined && read.get(each.id) !== describeState(each),
      );
      if (changed.length > 0) {
        // Langfuse keeps no resource: the environment is all that is known of the service.
        yield { requests: [buildRequest(changed.map(toSpan), '')] };
        changed.forEach((each) => read.set(each.id, describeState(each)));
      }
      cursor = page.meta?.cursor;
    }
  }

  return {
    async *pull(cursors, signal): AsyncGenerator<Batch> {
      const stored = Cursor.safeParse(cursors.get(''));
      const nowMs = Date.now();
      // A place that is ahead of the clock comes from before the clock went back.
      let fromMs = stored.success ? Math.min(stored.data.untilMs, nowMs) - OVERLAP_MS : sinceMs;
      const forgetBeforeMs = fromMs;
      while (fromMs < nowMs) {
        const toMs = Math.min(fromMs + HOUR_MS, nowMs);
        yield* readHour(fromMs, toMs, signal);
        yield { requests: [], cursor: { untilMs: toMs } };
        fromMs = toMs;
      }
      for (const [id, state] of read) {
        if (Date.parse(state.split(' ', 1)[0] ?? '') < forgetBeforeMs) {
          read.delete(id);
        }
      }
    },
  };
}

function describeState({ startTime, endTime, updatedAt }: Observation): string {
  return `${startTime} ${endTime} ${updatedAt}`;
}

/** Builds a span with the attributes that the SDKs of Langfuse write. */
function toSpan(observation: Observation): object {
  const { type, name, level, statusMessage, version, environment, userId, sessionId } = observation;
  const { input, output, metadata, usageDetails, providedModelName, model } = observation;
  const attributes = {
    'langfuse.observation.type': type.toLowerCase(),
    'langfuse.observation.level': level,
    'langfuse.observation.status_message': statusMessage,
    'langfuse.observation.input': toText(input),
    'langfuse.observation.output': toText(output),
    'langfuse.observation.model.name': providedModelName ?? model,
    'langfuse.observation.usage_details': toText(usageDetails),
    'langfuse.version': version,
    'langfuse.environment': environment,
    'session.id': sessionId,
    'user.id': userId,
    ...listMetadata(metadata),
  };
  return {
    traceId: toHex(observation.traceId ?? '', 32),
    spanId: toHex(observation.id, 16),
    parentSpanId: toHex(observation.parentObservationId ?? '', 16),
    name: name ?? '',
    startTimeUnixNano: toNano(observation.startTime),
    endTimeUnixNano: toNano(observation.endTime ?? observation.startTime),
    attributes: Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined)),
    status: level === 'ERROR' ? { code: 2, message: statusMessage } : {},
  };
}

function listMetadata(metadata: unknown): Record<string, unknown> {
  return typeof metadata === 'object' && metadata !== null
    ? Object.fromEntries(
        Object.entries(metadata).map(([key, value]) => [
          `langfuse.observation.metadata.${key}`,
          toText(value),
        ]),
      )
    : {};
}

function toText(value: unknown): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}

/** Ids of OpenTelemetry stay. Others, such as UUIDs, become a hash: the same id is always the same span. */
function toHex(id: string, digits: number): string {
  const plain = id.replaceAll('-', '').toLowerCase();
  return id === '' || (plain.length === digits && /^[\da-f]+$/u.test(plain))
    ? plain
    : createHash('sha256').update(id).digest('hex').slice(0, digits);
}

function toNano(iso: string): string {
  return `${Date.parse(iso)}000000`;
}

const Scores = z.object({
  data: z.array(
    z.looseObject({
      name: z.string(),
      source: z.string(),
      value: z.unknown().optional(),
      stringValue: text,
      comment: text,
      authorUserId: text,
      traceId: text,
      observationId: text,
      subject: z.looseObject({ kind: z.string(), id: z.string(), traceId: text }).optional(),
      metadata: z.record(z.string(), z.unknown()).optional(),
    }),
  ),
  meta: z.looseObject({ cursor: text, totalPages: z.number().optional() }).optional(),
});
const MayBeScores = Scores.partial();
type ScoreOfLangfuse = z.infer<typeof Scores>['data'][number];

/** Age of the oldest annotations that are read, milliseconds. */
const LABELS_MS = 30 * DAY_MS;

/** Creates the reader of the annotations of people in a project. Langfuse before version 4 has them under another path, in pages. */
export function createLangfuseLabels(options: KindOptions<'langfuse'>): LabelReader {
  const ask = createLangfuseAsk(options);
  let version: 'v3' | 'v2' = 'v3';

  async function readPage(place: Record<string, string>, signal: AbortSignal) {
    const query = new URLSearchParams({
      source: 'ANNOTATION',
      limit: '100',
      fromTimestamp: new Date(Date.now() - LABELS_MS).toISOString(),
      ...(version === 'v3' ? { fields: 'details,subject,annotation' } : {}),
      ...place,
    });
    return ask(MayBeScores, 'GET', `/api/public/${version}/scores?${query.toString()}`, {
      signal,
      mayMiss: () => version === 'v3',
    });
  }

  async function readAll(signal: AbortSignal): Promise<ScoreOfLangfuse[]> {
    const found: ScoreOfLangfuse[] = [];
    let place: Record<string, string> | undefined = {};
    for (let page = 1; place !== undefined; page += 1) {
      let read: z.infer<typeof MayBeScores> = await readPage(place, signal);
      if (read.data === undefined && page === 1 && version === 'v3') {
        version = 'v2';
        read = await readPage(place, signal);
      }
      found.push(...(read.data ?? []));
      const { cursor, totalPages = 0 } = read.meta ?? {};
      place =
        cursor === undefined ? (page < totalPages ? { page: String(page + 1) } : undefined) : { cursor };
    }
    return found;
  }

  return {
    kind: 'langfuse',
    async read(traces, signal) {
      const ids = new Set(traces.map(({ traceId }) => traceId));
      return (await readAll(signal))
        .flatMap((each) => toLabel(each))
        .filter(({ traceId }) => ids.has(traceId));
    },
  };
}

function toLabel(each: ScoreOfLangfuse): ForeignLabel[] {
  const { metadata = {}, value, stringValue, source } = each;
  const { traceId = '', spanId = '' } = findSubject(each);
  const score = readLabelScore(value ?? stringValue);
  if (source !== 'ANNOTATION' || OWN_ID in metadata || score === undefined || traceId === '') {
    return [];
  }
  const { name: scorer, comment: reason = '', authorUserId: author = '' } = each;
  const label = stringValue ?? (typeof value === 'string' ? value : '');
  return [{ traceId: toHex(traceId, 32), spanId: toHex(spanId, 16), scorer, score, label, reason, author }];
}

/** Finds the ids that a score is about. Version 2 of the API has them beside the score, version 3 in its subject. */
function findSubject({ subject, traceId, observationId: spanId }: ScoreOfLangfuse) {
  return subject === undefined
    ? { traceId, spanId }
    : subject.kind === 'observation'
      ? { traceId: subject.traceId, spanId: subject.id }
      : { traceId: subject.kind === 'trace' ? subject.id : undefined };
}

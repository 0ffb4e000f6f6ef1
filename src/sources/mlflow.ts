import { z } from 'zod';
import type { KindOptions } from '../config/schema/sources.ts';
import { bearerHeader } from '../delivery/http/ask-tool.ts';
import { DAY_MS } from '../domain/durations.ts';
import { LruMap } from '../domain/lru-map.ts';
import { type ForeignLabel, type LabelReader, readLabelScore } from '../labels/import-labels.ts';
import {
  type AskJson,
  type Batch,
  buildRequest,
  createAskJson,
  OWN_ID,
  type SourceReader,
} from './source.ts';

/** Most traces whose state is remembered. */
const MAX_REMEMBERED = 50_000;

/** Traces of a page. */
const PAGE = 50;

/** Time before the newest trace that each look reads again, milliseconds: traces come late. */
const OVERLAP_MS = 15 * 60_000;

/** Age up to which each look asks for a trace in progress, milliseconds: it is listed when it begins, and its spans come later. */
const MAX_PROGRESS_MS = DAY_MS;

const Info = z.looseObject({
  trace_id: z.string(),
  request_time: z.string(),
  execution_duration: z.string().optional(),
  state: z.string().optional(),
  trace_metadata: z.record(z.string(), z.unknown()).default({}),
  tags: z.record(z.string(), z.string()).default({}),
});
type Info = z.infer<typeof Info>;

const Found = z.object({ traces: z.array(Info).default([]), next_page_token: z.string().optional() });

const Span = z.looseObject({
  attributes: z.array(z.looseObject({ key: z.string() })).default([]),
});

const Full = z.object({
  traces: z.array(z.object({ trace_info: Info, spans: z.array(Span).default([]) })).default([]),
});

const Cursor = z.object({ newestMs: z.number() });

/**
 * Creates the reader of experiments in MLflow. Each look lists the traces from a while before the newest one on, and reads the spans of
 * new and changed traces.
 * @param sinceMs start of the oldest trace of a new source, Unix milliseconds
 */
export function createMlflowReader(
  { endpoint, token, experimentIds }: KindOptions<'mlflow'>,
  sinceMs: number,
): SourceReader {
  const ask = createMlflowAsk({ endpoint, token });
  const read = new LruMap<string>({ maxSize: MAX_REMEMBERED }, () => 1);
  const locations = experimentIds.map((id) => ({
    type: 'MLFLOW_EXPERIMENT',
    mlflow_experiment: { experiment_id: id },
  }));

  const open = new TracesInProgress();
  let listedMs: number | undefined;

  const isChanged = (info: Info) => read.get(info.trace_id) !== describeState(info);
  const note = (info: Info) => {
    read.set(info.trace_id, describeState(info));
    open.note(info);
  };

  async function* readOpen(beforeMs: number, signal: AbortSignal): AsyncGenerator<Batch> {
    const infos = open.list(beforeMs);
    for (let at = 0; at < infos.length; at += PAGE) {
      const full = await readFull(ask, infos.slice(at, at + PAGE), signal);
      yield { requests: buildRequests(full.filter(({ trace_info: info }) => isChanged(info))) };
      full.forEach(({ trace_info: info }) => note(info));
    }
  }

  return {
    async *pull(cursors, signal): AsyncGenerator<Batch> {
      const stored = Cursor.safeParse(cursors.get(''));
      const nowMs = Date.now();
      const lastMs = listedMs ?? (stored.success ? stored.data.newestMs : undefined);
      // A trace by a clock that is ahead must not hide those that come until then.
      let newestMs = Math.min(lastMs ?? sinceMs, nowMs);
      const fromMs = lastMs === undefined ? sinceMs : newestMs - OVERLAP_MS;
      // Another process begins at the oldest trace in progress.
      const place = () => ({ newestMs: Math.min(newestMs, open.oldestMs()) });
      yield* readOpen(fromMs, signal);
      let next: string | undefined;
      do {
        const body = {
          locations,
          filter: `trace.timestamp_ms > ${fromMs}`,
          order_by: ['timestamp_ms ASC'],
          max_results: PAGE,
          ...(next === undefined ? {} : { page_token: next }),
        };
        const found = await ask(Found, 'POST', '/api/3.0/mlflow/traces/search', { signal, body });
        const changed = found.traces.filter(isChanged);
        const times = changed.map((info) => Date.parse(info.request_time)).filter(Number.isFinite);
        newestMs = Math.min(nowMs, Math.max(newestMs, ...times));
        if (changed.length > 0) {
          yield { requests: buildRequests(await readFull(ask, changed, signal)) };
          changed.forEach(note);
          listedMs = newestMs;
        }
        yield listedMs === undefined ? { requests: [] } : { requests: [], cursor: place() };
        next = found.next_page_token;
      } while (next !== undefined && next !== '');
    },
  };
}

async function readFull(ask: AskJson, infos: readonly Pick<Info, 'trace_id'>[], signal: AbortSignal) {
  const query = infos.map(({ trace_id: id }) => `trace_ids=${encodeURIComponent(id)}`).join('&');
  return (await ask(Full, 'GET', `/api/3.0/mlflow/traces/batchGet?${query}`, { signal })).traces;
}

/** Traces that had not ended when they were read. */
class TracesInProgress {
  readonly #starts = new Map<string, number>();

  note({ trace_id: id, state, request_time: at }: Info): void {
    this.#starts.delete(id);
    if (state === 'IN_PROGRESS' && Number.isFinite(Date.parse(at))) {
      this.#starts.set(id, Date.parse(at));
    }
  }

  /** Lists those that began by a time, and forgets those that never end. */
  list(beforeMs: number): Pick<Info, 'trace_id'>[] {
    for (const [id, startMs] of this.#starts) {
      if (Date.now() - startMs > MAX_PROGRESS_MS) {
        this.#starts.delete(id);
      }
    }
    return [...this.#starts].flatMap(([id, startMs]) => (startMs <= beforeMs ? { trace_id: id } : []));
  }

  /** Returns the start of the oldest one; Infinity without one. */
  oldestMs(): number {
    return Math.min(Infinity, ...this.#starts.values());
  }
}

/** Builds the requests of the traces that have spans. */
function buildRequests(traces: z.infer<typeof Full>['traces']): object[] {
  return traces
    .filter(({ spans }) => spans.length > 0)
    .map(({ trace_info: info, spans }) =>
      buildRequest(spans.map(leaveOutDerived), info.tags['service.name'] ?? ''),
    );
}

function createMlflowAsk({ endpoint, token }: Pick<KindOptions<'mlflow'>, 'endpoint' | 'token'>): AskJson {
  return createAskJson('mlflow', endpoint, bearerHeader(token));
}

/** Attributes of the conventions from which MLflow derives its own. */
const ORIGINAL = /^(openinference|gen_ai|traceloop|langfuse|logfire|ai|genkit|lk)\./u;

/** MLflow adds its reading to spans of other conventions. The original says more. */
function leaveOutDerived(span: z.infer<typeof Span>): object {
  const hasOriginal = span.attributes.some(({ key }) => ORIGINAL.test(key));
  return hasOriginal
    ? { ...span, attributes: span.attributes.filter(({ key }) => !key.startsWith('mlflow.')) }
    : span;
}

/** Labels and scores of a trace are no change of its spans. */
function describeState({ state, execution_duration: duration, trace_metadata: metadata }: Info): string {
  return JSON.stringify([state, duration, metadata]);
}

const Assessed = z.object({
  trace: z
    .object({
      trace_info: z.looseObject({
        assessments: z
          .array(
            z.looseObject({
              assessment_name: z.string(),
              span_id: z.string().optional(),
              source: z.looseObject({ source_type: z.string(), source_id: z.string().default('') }),
              feedback: z.looseObject({ value: z.unknown().optional() }).optional(),
              rationale: z.string().default(''),
              metadata: z.record(z.string(), z.unknown()).default({}),
              valid: z.boolean().default(true),
            }),
          )
          .default([]),
      }),
    })
    .optional(),
});

/** Requests for assessments at a time. */
const AT_A_TIME = 8;

/** Creates the reader of the feedback of people on traces. */
export function createMlflowLabels(options: Pick<KindOptions<'mlflow'>, 'endpoint' | 'token'>): LabelReader {
  const ask = createMlflowAsk(options);

  async function readOne(traceId: string, signal: AbortSignal): Promise<ForeignLabel[]> {
    const path = `/api/3.0/mlflow/traces/tr-${traceId}`;
    const { trace } = await ask(Assessed, 'GET', path, {
      signal,
      mayMiss: (reply) => reply.includes(traceId),
    });
    return (trace?.trace_info.assessments ?? []).flatMap((each) => {
      const value = each.feedback?.value;
      const score = readLabelScore(value);
      const isHuman = each.source.source_type === 'HUMAN' && each.valid;
      return !isHuman || OWN_ID in each.metadata || score === undefined
        ? []
        : [
            {
              traceId,
              spanId: each.span_id ?? '',
              scorer: each.assessment_name,
              score,
              label: typeof value === 'string' ? value : '',
              reason: each.rationale,
              author: each.source.source_id,
            },
          ];
    });
  }

  return {
    kind: 'mlflow',
    async read(traces, signal) {
      const found: ForeignLabel[] = [];
      for (let at = 0; at < traces.length; at += AT_A_TIME) {
        const some = traces.slice(at, at + AT_A_TIME);
        found.push(...(await Promise.all(some.map(({ traceId }) => readOne(traceId, signal)))).flat());
      }
      return found;
    },
  };
}

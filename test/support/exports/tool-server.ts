import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { z } from 'zod';

/** Metadata of each score; the last ones where the tool has no place for them. */
const Facts = z.strictObject({
  'spanscore.score_id': z.guid(),
  'spanscore.revision': z.string().regex(/^\d+$/u),
  'spanscore.judge_model': z.string(),
  'spanscore.trace': z.string().regex(/^\/(?:traces|sessions)\/[^/]+$/u),
  'spanscore.label': z.string().optional(),
  'spanscore.author': z.string().optional(),
});

/** Score as a tool holds it. */
export interface HeldScore {
  readonly value: number;
  /** Trace or session; in Phoenix also the span. */
  readonly target: string;
  readonly label: string;
  readonly reason: string;
  readonly author: string;
  readonly facts: z.infer<typeof Facts>;
  /** Span of the score, where the tool has it. */
  readonly span?: string | undefined;
  /** Project of LangSmith. */
  readonly project?: string | undefined;
}

interface Reply {
  readonly status: number;
  readonly body?: object;
}

/** Tool of the tests: refuses unknown fields, and knows some traces. */
interface StrictTool {
  readonly options: Readonly<Record<string, string>>;
  /** Header that proves the key `good`. */
  readonly key: readonly [string, string];
  /** True when the tool answers 404 for a trace that it does not know. */
  readonly refusesUnknown: boolean;
  readonly hasSessions: boolean;
  /** Path of the deletion of a score, with the id as its group; absent for a tool that cannot delete. */
  readonly removal?: RegExp;
  answer(
    method: string,
    path: string,
    body: unknown,
    held: Map<string, HeldScore>,
    isKnown: (id: string) => boolean,
  ): Reply;
}

const UNKNOWN = { status: 404, body: { detail: 'not found' } };
const DONE = { status: 200 };

const annotation = {
  name: z.string(),
  annotator_kind: z.enum(['HUMAN', 'LLM', 'CODE']),
  result: z.strictObject({
    score: z.number(),
    label: z.string().nullable(),
    explanation: z.string().nullable(),
  }),
  metadata: Facts,
  identifier: z.guid(),
};

const feedback = {
  feedback: z.strictObject({ value: z.number() }),
  rationale: z.string(),
  metadata: Facts,
};

const Assessment = z.strictObject(feedback);

function readAssessment({ feedback: { value }, rationale: reason, metadata }: z.infer<typeof Assessment>) {
  return { value, reason, label: metadata['spanscore.label'] ?? '', facts: metadata };
}

const Ingestion = z.strictObject({
  batch: z.tuple([
    z.strictObject({
      id: z.string(),
      type: z.literal('score-create'),
      timestamp: z.iso.datetime(),
      body: z
        .strictObject({
          id: z.guid(),
          traceId: z.string().optional(),
          observationId: z.string().optional(),
          sessionId: z.string().optional(),
          name: z.string(),
          value: z.number(),
          dataType: z.literal('NUMERIC'),
          comment: z.string(),
          metadata: Facts,
          environment: z.string().optional(),
        })
        .refine(({ traceId, sessionId }) => (traceId === undefined) !== (sessionId === undefined)),
    }),
  ]),
});

/** Reads what a tool without fields for them has in the metadata. */
function readFacts(facts: z.infer<typeof Facts>) {
  const { 'spanscore.label': label = '', 'spanscore.author': author = '' } = facts;
  return { label, author, facts };
}

const change = { score: z.number(), value: z.string().nullable(), comment: z.string() };

const Metric = z.strictObject({
  event_kind: z.literal('evaluation'),
  join_on: z.strictObject({
    span: z.strictObject({ span_id: z.string().regex(/^\d+$/u), trace_id: z.string().regex(/^\d+$/u) }),
  }),
  label: z.string().regex(/^[A-Za-z]\w{0,199}$/u),
  metric_type: z.literal('score'),
  score_value: z.number(),
  ml_app: z.literal('shop'),
  timestamp_ms: z.int(),
  tags: z.tuple([z.literal('source:otel')], z.string()),
  reasoning: z.string().optional(),
});

/** The tools by the names of their exporters. */
export const STRICT_TOOLS: Readonly<Record<string, StrictTool>> = {
  phoenix: {
    options: { apiKey: 'good' },
    key: ['authorization', 'Bearer good'],
    refusesUnknown: true,
    hasSessions: true,
    removal:
      /^\/v1\/projects\/default\/(?:trace|span|session)_annotations\?identifier=([\da-f-]{36})&delete_all=true$/u,
    answer(_, path, body, held, isKnown) {
      const kind = /^\/v1\/(trace|span|session)_annotations\?sync=true$/u.exec(path)?.[1] ?? '';
      const key = `${kind}_id`;
      const { data } = z
        .strictObject({ data: z.array(z.strictObject({ ...annotation, [key]: z.string() })) })
        .parse(body);
      const targets = data.map((each) => String((each as Record<string, unknown>)[key]));
      if (!targets.every(isKnown)) {
        return UNKNOWN;
      }
      data.forEach(({ identifier, result, annotator_kind: author, metadata }, index) =>
        held.set(identifier, {
          value: result.score,
          target: targets[index] ?? '',
          span: kind === 'span' ? targets[index] : undefined,
          label: result.label ?? '',
          reason: result.explanation ?? '',
          author,
          facts: metadata,
        }),
      );
      return DONE;
    },
  },
  mlflow: {
    options: { token: 'good' },
    key: ['authorization', 'Bearer good'],
    refusesUnknown: true,
    hasSessions: false,
    removal: /^\/api\/3\.0\/mlflow\/traces\/tr-[\da-f]{32}\/assessments\/([\da-f-]{36})$/u,
    answer(method, path, body, held, isKnown) {
      const [, trace = '', id = ''] =
        /^\/api\/3\.0\/mlflow\/traces\/tr-([0-9a-f]{32})\/assessments(?:\/(.+))?$/u.exec(path) ?? [];
      if (!isKnown(trace)) {
        return {
          status: 404,
          body: { error_code: 'RESOURCE_DOES_NOT_EXIST', message: `Trace tr-${trace} not found` },
        };
      }
      if (method === 'PATCH') {
        const { assessment } = z
          .strictObject({
            assessment: Assessment,
            update_mask: z.literal('feedback,rationale,metadata'),
          })
          .parse(body);
        const before = held.get(id);
        if (before === undefined) {
          return { status: 404, body: { message: `No assessment ${id} in trace tr-${trace}` } };
        }
        held.set(id, { ...before, ...readAssessment(assessment) });
        return DONE;
      }
      const { assessment } = z
        .strictObject({
          assessment: z.strictObject({
            ...feedback,
            assessment_id: z.guid(),
            assessment_name: z.string(),
            trace_id: z.literal(`tr-${trace}`),
            span_id: z.string().optional(),
            source: z.strictObject({
              source_type: z.enum(['HUMAN', 'LLM_JUDGE', 'CODE']),
              source_id: z.string().min(1),
            }),
            valid: z.literal(true),
          }),
        })
        .parse(body);
      if (held.has(assessment.assessment_id)) {
        return { status: 500, body: { message: 'constraint violation' } };
      }
      const { source_type: kind } = assessment.source;
      held.set(assessment.assessment_id, {
        ...readAssessment(assessment),
        target: trace,
        span: assessment.span_id,
        author: kind === 'LLM_JUDGE' ? 'LLM' : kind,
      });
      return DONE;
    },
  },
  langfuse: {
    options: { publicKey: 'pk', secretKey: 'good' },
    key: ['authorization', `Basic ${Buffer.from('pk:good').toString('base64')}`],
    refusesUnknown: false,
    hasSessions: true,
    removal: /^\/api\/public\/scores\/([\da-f-]{36})$/u,
    answer(_, path, body, held) {
      const [event] = Ingestion.parse(body).batch;
      const { id, name, value, traceId, sessionId, observationId, comment, metadata } = event.body;
      // The day of the time stamp is a part of the key.
      held.set(`${id} ${name} ${event.timestamp.slice(0, 10)}`, {
        value,
        target: traceId ?? sessionId ?? path,
        span: observationId,
        reason: comment,
        ...readFacts(metadata),
      });
      return { status: 207, body: { successes: [{ id: event.id, status: 201 }], errors: [] } };
    },
  },
  langsmith: {
    options: { apiKey: 'good' },
    key: ['x-api-key', 'good'],
    refusesUnknown: true,
    hasSessions: false,
    removal: /^\/feedback\/([\da-f-]{36})$/u,
    answer(method, path, body, held, isKnown) {
      if (method === 'PATCH') {
        const { score, value, comment } = z.strictObject(change).parse(body);
        const id = path.slice('/feedback/'.length);
        const before = held.get(id);
        if (before === undefined) {
          return UNKNOWN;
        }
        held.set(id, { ...before, value: score, label: value ?? '', reason: comment });
        return DONE;
      }
      const created = z
        .strictObject({
          ...change,
          id: z.guid(),
          run_id: z.guid(),
          trace_id: z.guid(),
          key: z.string(),
          feedback_source: z.strictObject({ type: z.enum(['api', 'model']), metadata: Facts }),
          session_id: z.guid().optional(),
        })
        .parse(body);
      const target = created.trace_id.replaceAll('-', '');
      if (held.has(created.id)) {
        return { status: 409 };
      }
      if (!isKnown(target)) {
        return UNKNOWN;
      }
      const { type, metadata } = created.feedback_source;
      const facts = readFacts(metadata);
      if ((type === 'model') !== (facts.author === 'LLM')) {
        return { status: 422 };
      }
      held.set(created.id, {
        ...facts,
        value: created.score,
        target,
        label: created.value ?? '',
        reason: created.comment,
        span: created.run_id,
        project: created.session_id,
      });
      return DONE;
    },
  },
  datadog: {
    options: { apiKey: 'good', mlApp: 'shop' },
    key: ['dd-api-key', 'good'],
    refusesUnknown: false,
    hasSessions: false,
    answer(_, path, body, held) {
      const { data } = z
        .strictObject({
          data: z.strictObject({
            type: z.literal('evaluation_metric'),
            attributes: z.strictObject({ metrics: z.tuple([Metric]) }),
          }),
        })
        .parse(body);
      const [{ join_on: on, label, timestamp_ms: at, score_value: value, ...metric }] =
        data.attributes.metrics;
      const toHex = (id: string, digits: number) => BigInt(id).toString(16).padStart(digits, '0');
      const target = toHex(on.span.trace_id, 32);
      const [, ...tags] = metric.tags;
      const metadata = Object.fromEntries(tags.map((tag) => tag.split(/:(.*)/su, 2)));
      held.set(`${path} ${target} ${label} ${at}`, {
        value,
        target,
        span: toHex(on.span.span_id, 16),
        reason: metric.reasoning ?? '',
        ...readFacts(Facts.parse(metadata)),
      });
      return { status: 202 };
    },
  },
};

/** A strict tool that listens. */
export interface ToolServer {
  readonly url: string;
  readonly held: Map<string, HeldScore>;
  /** Traces, spans and sessions that it does not know. */
  readonly unknown: Set<string>;
  /** Requests that it refused because of their form. */
  readonly faults: string[];
  /** Number of the requests so far. */
  count(): number;
  /** Answers every request with this status; undefined: as the tool. */
  fail(status: number | undefined, headers?: Record<string, string>): void;
  /** Answers no request until so many wait for their replies. */
  holdUntil(count: number): void;
  close(): Promise<void>;
}

/** Deletes a score, as tools do: 404 for one that is gone. */
function remove({ removal }: StrictTool, path: string, held: Map<string, HeldScore>): Reply {
  const id = removal?.exec(path)?.[1];
  if (id === undefined) {
    throw new Error('no path of a deletion');
  }
  const keys = [...held.keys()].filter((key) => key.startsWith(id));
  keys.forEach((key) => held.delete(key));
  return keys.length === 0 ? UNKNOWN : DONE;
}

/** Starts a tool on loopback. */
export async function startTool(name: string): Promise<ToolServer> {
  const tool = STRICT_TOOLS[name];
  if (tool === undefined) {
    throw new Error(`there is no tool ${name}`);
  }
  const held = new Map<string, HeldScore>();
  const unknown = new Set<string>();
  const faults: string[] = [];
  let requests = 0;
  let failure: { readonly status: number; readonly headers: Record<string, string> } | undefined;
  const answer = async (request: IncomingMessage): Promise<Reply> => {
    const text = await textOf(request);
    const [header, value] = tool.key;
    if (request.headers[header] !== value) {
      return { status: 401 };
    }
    try {
      const isKnown = (id: string) => !unknown.has(id);
      if (request.method === 'DELETE') {
        return remove(tool, request.url ?? '', held);
      }
      return tool.answer(request.method ?? '', request.url ?? '', JSON.parse(text), held, isKnown);
    } catch (error) {
      faults.push(`${request.method} ${request.url} ${text}: ${String(error)}`);
      return { status: 422 };
    }
  };
  const enough = Promise.withResolvers<void>();
  let least = 0;
  const reply = async (request: IncomingMessage, response: ServerResponse) => {
    requests += 1;
    if (requests >= least) {
      enough.resolve();
    }
    await enough.promise;
    const { status, body = {} } = failure === undefined ? await answer(request) : { ...failure };
    response.writeHead(status, { 'content-type': 'application/json', ...failure?.headers });
    response.end(JSON.stringify(body));
  };
  const server = createServer((request, response) => void reply(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    held,
    unknown,
    faults,
    count: () => requests,
    fail: (status, headers = {}) => {
      failure = status === undefined ? undefined : { status, headers };
    },
    holdUntil: (count) => {
      least = count;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

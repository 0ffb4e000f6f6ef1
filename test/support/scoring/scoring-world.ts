import { randomBytes } from 'node:crypto';
import type { AgentRun, TraceReading } from '../../../src/domain/trace/agent-run.ts';
import type { AgentMessage } from '../../../src/domain/trace/messages.ts';
import type { Span, TraceData } from '../../../src/domain/trace/span.ts';
import type { Scoring } from '../../../src/scoring/scoring.ts';
import { createScoring, type TestLimits, type TestPorts } from './bare-scoring.ts';
import type { Scorer, ScorerRunInput, ScorerRunResult } from '../../../src/scorers/evals/scorer.ts';
import { liveMode, type ScoringMode } from '../../../src/scoring/scoring-mode.ts';
import { prepareRule, recordRules, type Rule } from '../../../src/scoring/select/rule.ts';
import { silentLog } from '../../../src/telemetry/log.ts';
import type { MemoryStore } from '../fakes/memory-store.ts';

export function newTraceId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * Builds a span of an agent run. `says` is the answer, and `tool` makes it a tool call. Without `parent` it is a root span.
 */
export function agentSpan(
  traceId: string,
  id: string,
  options: {
    parent?: string;
    says?: string;
    tool?: { name: string; result: string };
    error?: boolean;
    service?: string;
    attributes?: Record<string, string>;
    startMs?: number;
    scope?: string;
    durationMs?: number;
    traceState?: string;
  } = {},
): Span {
  const { tool } = options;
  return {
    traceId,
    spanId: id.padEnd(16, '0'),
    parentSpanId: options.parent === undefined ? '' : options.parent.padEnd(16, '0'),
    traceState: options.traceState ?? '',
    name: 'agent',
    kind: 'Internal',
    serviceName: options.service ?? 'weather',
    resourceAttributes: new Map(),
    scopeName: options.scope ?? 'test',
    scopeVersion: '',
    attributes: new Map([
      ['gen_ai.operation.name', tool === undefined ? 'invoke_agent' : 'execute_tool'],
      ...(options.says === undefined ? [] : [['says', options.says] as const]),
      ...(tool === undefined
        ? []
        : ([
            ['gen_ai.tool.name', tool.name],
            ['result', tool.result],
          ] as const)),
      ...Object.entries(options.attributes ?? {}),
    ]),
    startUnixNano: BigInt(options.startMs ?? Date.UTC(2026, 10, 21, 11)) * 1_000_000n,
    durationNano: BigInt(options.durationMs ?? 1_000) * 1_000_000n,
    statusCode: options.error === true ? 'Error' : 'Unset',
    statusMessage: '',
    events: [],
    links: [],
    droppedAttributesCount: 0,
  };
}

export function message(text: string): AgentMessage {
  return {
    id: 'm',
    role: 'assistant',
    createdAt: new Date(0),
    content: { format: 2, parts: [{ type: 'text', text }], content: text },
  };
}

/**
 * Reads these spans: one run for each root (one run in all without a root), with the tool results as context. The attributes
 * `convention`, `tokens`, `model` and `session` of the root are those of the run.
 */
export function readTestTrace(data: TraceData): TraceReading {
  const agents = data.spans.filter((span) => span.attributes.has('says') || span.parentSpanId === '');
  const roots = agents.filter((span) => span.parentSpanId === '');
  const heads = roots.length > 0 ? roots : agents.slice(0, 1);
  const results = data.spans.flatMap((span) => span.attributes.get('result') ?? []).sort();
  return {
    traceId: data.traceId,
    spanCount: data.spans.length,
    logCount: 0,
    runs: heads.map((head): AgentRun => buildRun(head, heads.length === 1 ? agents : [head], results)),
    notScorable:
      heads.length > 0 ? null : { code: 'no_agent_or_llm_span', detail: 'nothing that is understood' },
    notUnderstood: [],
  };
}

function buildRun(head: Span, agents: readonly Span[], context: string[]): AgentRun {
  const said = agents.flatMap((span) => span.attributes.get('says') ?? []).sort();
  const tokens = Number(head.attributes.get('tokens') ?? 0) || null;
  return {
    target: { kind: 'trace', traceId: head.traceId, spanId: head.spanId },
    conventions: [head.attributes.get('convention') ?? 'test'],
    agent: 'tester',
    agentVersion: '1.2.0',
    service: head.serviceName,
    serviceVersion: null,
    environment: null,
    sessionId: head.attributes.get('session') ?? null,
    userId: null,
    models: [head.attributes.get('model') ?? 'model-a'],
    usage: {
      inputTokens: tokens,
      outputTokens: tokens === null ? null : 0,
      totalTokens: tokens,
      reasoningTokens: null,
      cachedInputTokens: null,
      cacheWriteTokens: null,
    },
    startedAt: new Date(Number(head.startUnixNano / 1_000_000n)).toISOString(),
    endedAt: new Date(Number(head.startUnixNano / 1_000_000n)).toISOString(),
    status: 'ok',
    error: null,
    input: { inputMessages: [], rememberedMessages: [], systemMessages: [], taggedSystemMessages: {} },
    output: said.map(message),
    documents: [],
    context,
    scorable: said.length > 0,
    notScorable: said.length > 0 ? null : { code: 'no_content_captured', detail: 'nothing was said' },
    warnings: [],
    subRuns: [],
  };
}

/** Scorer that counts its runs. `scores` may throw. */
export class CountingScorer implements Scorer {
  readonly id: string;
  readonly version: string = '1';
  readonly judgeModel: string;
  readonly higherIsBetter = true;
  readonly range = [0, 1] as const;
  readonly inputs: ScorerRunInput[] = [];
  scores: (input: ScorerRunInput) => ScorerRunResult | Promise<ScorerRunResult>;

  constructor(
    id: string,
    scores: (input: ScorerRunInput) => ScorerRunResult | Promise<ScorerRunResult> = () => ({ score: 1 }),
    judgeModel = '',
  ) {
    this.id = id;
    this.scores = scores;
    this.judgeModel = judgeModel;
  }

  async run(input: ScorerRunInput): Promise<ScorerRunResult> {
    this.inputs.push(input);
    return this.scores(input);
  }
}

export function judged(id: string, scores?: ConstructorParameters<typeof CountingScorer>[1]): CountingScorer {
  return new CountingScorer(id, scores, 'test/judge');
}

export function buildRule(scorers: readonly Scorer[], parts: Partial<Rule> = {}): Rule {
  return {
    name: 'r',
    scorers: scorers.map((scorer) => ({ name: scorer.id, scorer })),
    target: 'trace',
    sample: { rate: 1, always: [] },
    ...parts,
  };
}

export function createTestScoring(
  store: MemoryStore,
  options: TestLimits = {},
  ports: Partial<TestPorts> = {},
): Scoring {
  return createScoring(
    {
      stores: store.stores,
      readTrace: readTestTrace,
      log: silentLog,
      random: () => 0,
      monotonicMs: () => store.clockMs,
      ...ports,
    },
    options,
  );
}

/** Creates the live mode with rules that cover traces from now on. */
export async function buildLiveMode(store: MemoryStore, ...rules: Rule[]): Promise<ScoringMode> {
  const prepared = rules.map(prepareRule);
  const history = await recordRules(store.stores.ruleVersions, prepared, store.clockMs);
  store.clockMs += 1;
  return liveMode(prepared, history);
}

import type { AlertChannel } from './outbound/alerts/alert-channel.ts';
import type { Config, KnownScorer } from './config/index.ts';
import { ConfigError } from './domain/errors.ts';
import type { Scorer } from './evals/scorer.ts';
import type { ReadinessCheck } from './domain/readiness-check.ts';
import type { ScoreExporter } from './outbound/exporters/score-exporter.ts';
import type { DeadLetterSink } from './store/contracts/dead-letters.ts';
import type { SpanSink } from './store/contracts/span-sink.ts';
import type { Log } from './telemetry/log.ts';
import type { Metrics } from './telemetry/metrics.ts';

// The registry of all components: a component without a line here does not exist. Code is loaded at its first use, so that
// a command that lists or checks loads none of it. Conventions are listed in src/conventions/registry.ts, which stays pure.

/** Judge and options of the entry of a scorer. */
export interface ScorerSpec {
  /** `provider/model`; '' without a configured judge. */
  readonly judge: string;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Scorer that rules can name without an entry. */
export interface PrebuiltScorer extends KnownScorer {
  /** Names of its score rows, for a scorer that writes several. */
  readonly rows?: readonly string[];
  create(spec: ScorerSpec): Promise<Scorer>;
}

const prebuilt = () => import('./scorers/prebuilt/index.ts');

/** Scorers that rules can name. */
export const PREBUILT_SCORERS: readonly PrebuiltScorer[] = [
  {
    name: 'keyword-coverage',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createKeywordCoverageScorer(options as never),
  },
  {
    name: 'content-similarity',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createContentSimilarityScorer(options),
  },
  {
    name: 'completeness',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createCompletenessScorer(options as never),
  },
  {
    name: 'textual-difference',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createTextualDifferenceScorer(options as never),
  },
  {
    name: 'tool-call-accuracy-code',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createToolCallAccuracyScorerCode(options),
  },
  {
    name: 'trajectory-accuracy-code',
    needsJudge: false,
    create: async ({ options }) => {
      if (options['expectedTrajectory'] === undefined) {
        throw new ConfigError(
          'trajectory-accuracy-code needs options.expectedTrajectory: the expected steps',
        );
      }
      return (await prebuilt()).createTrajectoryAccuracyScorerCode(options);
    },
  },
  {
    name: 'trajectory-code',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createTrajectoryScorerCode(options),
  },
  {
    name: 'tone',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).createToneScorer(options),
  },
  {
    name: 'no-tool-errors',
    needsJudge: false,
    create: async ({ options }) => (await prebuilt()).checks.noToolErrors(options as never),
  },
  {
    name: 'hallucination',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createHallucinationScorer({ model: judge, options }),
  },
  {
    name: 'faithfulness',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createFaithfulnessScorer({ model: judge, options }),
  },
  {
    name: 'grounding',
    needsJudge: true,
    rows: ['grounding-hallucination', 'grounding-faithfulness', 'grounding-citation-precision'],
    create: async ({ judge, options }) => (await prebuilt()).createGroundingScorer({ model: judge, options }),
  },
  {
    name: 'answer-relevancy',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createAnswerRelevancyScorer({ model: judge, options }),
  },
  {
    name: 'bias',
    needsJudge: true,
    create: async ({ judge, options }) => (await prebuilt()).createBiasScorer({ model: judge, options }),
  },
  {
    name: 'toxicity',
    needsJudge: true,
    create: async ({ judge, options }) => (await prebuilt()).createToxicityScorer({ model: judge, options }),
  },
  {
    name: 'prompt-alignment',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createPromptAlignmentScorerLLM({ model: judge, options }),
  },
  {
    name: 'summarization',
    needsJudge: true,
    create: async ({ judge, options }) =>
      (await prebuilt()).createSummarizationScorer({ model: judge, options }),
  },
  {
    name: 'context-precision',
    needsJudge: true,
    create: async ({ judge, options }) => {
      const { contextFromRun, createContextPrecisionScorer } = await prebuilt();
      return createContextPrecisionScorer({
        model: judge,
        options: { ...contextOption(contextFromRun, options), ...options },
      });
    },
  },
  {
    name: 'context-relevance',
    needsJudge: true,
    create: async ({ judge, options }) => {
      const { contextFromRun, createContextRelevanceScorerLLM } = await prebuilt();
      return createContextRelevanceScorerLLM({
        model: judge,
        options: { ...contextOption(contextFromRun, options), ...options },
      });
    },
  },
  {
    name: 'rubric',
    needsJudge: true,
    create: async ({ judge, options: { criteria, ...options } }) =>
      (await prebuilt()).createRubricScorer({
        model: judge,
        criteria: requireOption('rubric', { criteria }, 'the points of the rubric'),
        options,
      }),
  },
  {
    name: 'multi-turn-judge',
    needsJudge: true,
    create: async ({ judge, options: { criterion, ...options } }) =>
      (await prebuilt()).createMultiTurnJudgeScorer({
        model: judge,
        criterion: requireOption('multi-turn-judge', { criterion }, 'what the answers must meet'),
        options,
      }),
  },
  {
    name: 'tool-call-accuracy-llm',
    needsJudge: true,
    create: async ({ judge, options: { availableTools, ...options } }) =>
      (await prebuilt()).createToolCallAccuracyScorerLLM({
        model: judge,
        availableTools: requireOption(
          'tool-call-accuracy-llm',
          { availableTools },
          'a list of { id, description }',
        ),
        options,
      }),
  },
  {
    name: 'trajectory-accuracy-llm',
    needsJudge: true,
    create: async ({ judge, options: { expectedTrajectory, ...options } }) =>
      (await prebuilt()).createTrajectoryAccuracyScorerLLM({
        model: judge,
        expectedTrajectory: expectedTrajectory as never,
        options,
      }),
  },
];

/** Returns the context of the option, else an extractor of the run's own context. */
function contextOption<T>(contextExtractor: T, { context }: ScorerSpec['options']): { contextExtractor?: T } {
  return context === undefined ? { contextExtractor } : {};
}

/** Returns the one required option of a scorer; the scorer itself checks its type. */
function requireOption(scorer: string, given: Readonly<Record<string, unknown>>, what: string): never {
  const [name = '', value] = Object.entries(given)[0] ?? [];
  if (value === undefined) {
    throw new ConfigError(`${scorer} needs options.${name}: ${what}`);
  }
  return value as never;
}

/** Receivers of spans. */
export const RECEIVERS = [
  { name: 'otlp-http', key: 'receivers.otlp.http' },
  { name: 'otlp-grpc', key: 'receivers.otlp.grpc' },
  { name: 'kafka', key: 'receivers.kafka' },
] as const;

/** Exporters of scores. */
export const EXPORTERS = [
  {
    name: 'otlp',
    key: 'exporters.otlp',
    create: async ({ exporters: { otlp } }: Config, version: string): Promise<ScoreExporter[]> =>
      otlp === undefined
        ? []
        : (await import('./outbound/exporters/otlp-exporter.ts')).createOtlpExporters({ ...otlp, version }),
  },
  {
    name: 'webhook',
    key: 'exporters.webhook',
    create: async ({ exporters: { webhook } }: Config): Promise<ScoreExporter[]> =>
      webhook === undefined
        ? []
        : [(await import('./outbound/exporters/webhook-exporter.ts')).createWebhookExporter(webhook)],
  },
] as const;

/** Creates every configured exporter. */
export async function createExporters(config: Config, version: string): Promise<ScoreExporter[]> {
  const made = await Promise.all(EXPORTERS.map((exporter) => exporter.create(config, version)));
  return made.flat();
}

const channels = () => import('./outbound/alerts/configured-channels.ts');

/** Channels of alerts. */
export const CHANNELS = [
  {
    name: 'alertmanager',
    key: 'alerts.alertmanager',
    create: async ({ alerts }: Config) => (await channels()).alertmanagerChannels(alerts),
  },
  {
    name: 'webhook',
    key: 'alerts.webhook',
    create: async ({ alerts }: Config) => (await channels()).webhookChannels(alerts),
  },
  {
    name: 'slack',
    key: 'alerts.slack',
    create: async ({ alerts }: Config) => (await channels()).slackChannels(alerts),
  },
  {
    name: 'pagerduty',
    key: 'alerts.pagerduty',
    create: async ({ alerts }: Config) => (await channels()).pagerDutyChannels(alerts),
  },
] as const;

/** Creates every configured channel. */
export async function createChannels(config: Config): Promise<AlertChannel[]> {
  const made = await Promise.all(CHANNELS.map((channel) => channel.create(config)));
  return made.flat();
}

/** Receivers of one process. */
export interface Receivers {
  readonly otlpHttp: { readonly host: string; readonly port: number };
  readonly otlpGrpc: { readonly host: string; readonly port: number } | undefined;
  /** Readiness checks of the receivers. */
  readonly checks: readonly ReadinessCheck[];
  stop(): Promise<void>;
}

/** Stores that receivers write to. */
export interface ReceiverStores {
  readonly sink: SpanSink;
  readonly deadLetters: DeadLetterSink;
}

/** Starts the receivers of a process that forwards requests. Throws a `ConfigError` when an address cannot be used. */
export async function startForwarding(
  config: Config,
  forward: NonNullable<Config['forward']>,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): Promise<Receivers> {
  const [{ startForwarder }, { configuredForwarder }, { forwarderReadings, metricListener }] =
    await Promise.all([
      import('../collector/forward/forwarder.ts'),
      import('../collector/forward/configured-forwarder.ts'),
      import('../collector/collector-metrics.ts'),
    ]);
  const options = configuredForwarder(config, forward, { log, listener: metricListener(metrics) });
  const forwarder = await startForwarder(options);
  metrics.observe(() => forwarderReadings(forwarder));
  return {
    otlpHttp: forwarder.address,
    otlpGrpc: forwarder.grpcAddress,
    checks: forwarder.checks,
    stop: () => forwarder.stop(),
  };
}

/** Starts every configured receiver. Throws a `ConfigError` when an address cannot be used. */
export async function startReceivers(
  config: Config,
  stores: ReceiverStores,
  { log, metrics }: { readonly log: Log; readonly metrics: Metrics },
): Promise<Receivers> {
  const [
    { startCollector },
    { bearerTokens },
    { ingestOptions },
    { collectorReadings, metricListener },
    { collectorChecks },
  ] = await Promise.all([
    import('../collector/collector.ts'),
    import('../collector/receivers/bearer-tokens.ts'),
    import('../collector/configured-ingest.ts'),
    import('../collector/collector-metrics.ts'),
    import('../collector/collector-checks.ts'),
  ]);
  const { kafka } = config.receivers;
  const collector = await startCollector({
    sink: stores.sink,
    deadLetters: stores.deadLetters,
    ...ingestOptions(config),
    authenticate: bearerTokens(config.auth.tokens),
    ...(kafka === undefined
      ? {}
      : {
          kafka: (await import('../collector/receivers/kafka/configured-kafka.ts')).configuredKafka(
            kafka,
            log,
          ),
        }),
    listener: metricListener(metrics),
    log,
  });
  metrics.observe(() => collectorReadings(collector.stats()));
  return {
    otlpHttp: collector.address,
    otlpGrpc: collector.grpcAddress,
    checks: collectorChecks(collector),
    stop: () => collector.stop(),
  };
}

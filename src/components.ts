import { kafkaReceiver } from '../collector/receivers/kafka/kafka-definition.ts';
import { otlpGrpcReceiver } from '../collector/receivers/otlp-grpc-definition.ts';
import { otlpHttpReceiver } from '../collector/receivers/otlp-http-definition.ts';
import type { ReceiverDefinition } from '../collector/receivers/receiver-definition.ts';
import { alertmanagerChannel } from './outbound/alerts/alertmanager-definition.ts';
import type { ChannelDefinition } from './outbound/alerts/channel-definition.ts';
import { pagerdutyChannel } from './outbound/alerts/pagerduty-definition.ts';
import { slackChannel } from './outbound/alerts/slack-definition.ts';
import { webhookChannel } from './outbound/alerts/webhook-definition.ts';
import type { ExporterDefinition } from './outbound/exporters/exporter-definition.ts';
import { otlpExporter } from './outbound/exporters/otlp-definition.ts';
import { webhookExporter } from './outbound/exporters/webhook-definition.ts';
import { noToolErrorsDefinition } from './scorers/checks/no-tool-errors-definition.ts';
import { answerRelevancyDefinition } from './scorers/prebuilt/answer-relevancy/answer-relevancy-definition.ts';
import { behaviourDefinition } from './scorers/prebuilt/behaviour/behaviour-definition.ts';
import { biasDefinition } from './scorers/prebuilt/bias/bias-definition.ts';
import { completenessDefinition } from './scorers/prebuilt/completeness/completeness-definition.ts';
import { contentSimilarityDefinition } from './scorers/prebuilt/content-similarity/content-similarity-definition.ts';
import { contextPrecisionDefinition } from './scorers/prebuilt/context-precision/context-precision-definition.ts';
import { contextRelevanceDefinition } from './scorers/prebuilt/context-relevance/context-relevance-definition.ts';
import { faithfulnessDefinition } from './scorers/prebuilt/faithfulness/faithfulness-definition.ts';
import { groundingDefinition } from './scorers/prebuilt/grounding/grounding-definition.ts';
import { hallucinationDefinition } from './scorers/prebuilt/hallucination/hallucination-definition.ts';
import { keywordCoverageDefinition } from './scorers/prebuilt/keyword-coverage/keyword-coverage-definition.ts';
import { multiTurnJudgeDefinition } from './scorers/prebuilt/multi-turn-judge/multi-turn-judge-definition.ts';
import { panelDefinition } from './scorers/prebuilt/panel/panel-definition.ts';
import { promptAlignmentDefinition } from './scorers/prebuilt/prompt-alignment/prompt-alignment-definition.ts';
import { rubricDefinition } from './scorers/prebuilt/rubric/rubric-definition.ts';
import { summarizationDefinition } from './scorers/prebuilt/summarization/summarization-definition.ts';
import { textualDifferenceDefinition } from './scorers/prebuilt/textual-difference/textual-difference-definition.ts';
import { toneDefinition } from './scorers/prebuilt/tone/tone-definition.ts';
import { toolCallAccuracyCodeDefinition } from './scorers/prebuilt/tool-call-accuracy-code/tool-call-accuracy-code-definition.ts';
import { toolCallAccuracyLlmDefinition } from './scorers/prebuilt/tool-call-accuracy-llm/tool-call-accuracy-llm-definition.ts';
import { toxicityDefinition } from './scorers/prebuilt/toxicity/toxicity-definition.ts';
import { trajectoryAccuracyCodeDefinition } from './scorers/prebuilt/trajectory-accuracy-code/trajectory-accuracy-code-definition.ts';
import { trajectoryAccuracyLlmDefinition } from './scorers/prebuilt/trajectory-accuracy-llm/trajectory-accuracy-llm-definition.ts';
import { trajectoryCodeDefinition } from './scorers/prebuilt/trajectory-code/trajectory-code-definition.ts';
import type { ScorerDefinition } from './scorers/scorer-definition.ts';

// The registry of all components: a component without a line here does not exist. A definition stands beside its code and
// loads it at its first use, so that a command that lists or checks loads none of it. Conventions are listed in
// src/conventions/registry.ts, which stays pure.

/** Scorers that rules can name. */
export const PREBUILT_SCORERS: readonly ScorerDefinition[] = [
  behaviourDefinition,
  keywordCoverageDefinition,
  contentSimilarityDefinition,
  completenessDefinition,
  textualDifferenceDefinition,
  toolCallAccuracyCodeDefinition,
  trajectoryAccuracyCodeDefinition,
  trajectoryCodeDefinition,
  toneDefinition,
  noToolErrorsDefinition,
  hallucinationDefinition,
  faithfulnessDefinition,
  groundingDefinition,
  panelDefinition,
  answerRelevancyDefinition,
  biasDefinition,
  toxicityDefinition,
  promptAlignmentDefinition,
  summarizationDefinition,
  contextPrecisionDefinition,
  contextRelevanceDefinition,
  rubricDefinition,
  multiTurnJudgeDefinition,
  toolCallAccuracyLlmDefinition,
  trajectoryAccuracyLlmDefinition,
];

/** Receivers of spans. */
export const RECEIVERS = [
  otlpHttpReceiver,
  otlpGrpcReceiver,
  kafkaReceiver,
] as const satisfies readonly ReceiverDefinition[];

/** Exporters of scores. */
export const EXPORTERS = [otlpExporter, webhookExporter] as const satisfies readonly ExporterDefinition[];

/** Channels of alerts. */
export const CHANNELS = [
  alertmanagerChannel,
  webhookChannel,
  slackChannel,
  pagerdutyChannel,
] as const satisfies readonly ChannelDefinition[];

/** Components with a section of their own in the configuration. */
export const COMPONENTS = { receivers: RECEIVERS, exporters: EXPORTERS, channels: CHANNELS } as const;

/** Lists the components that have a section of their own in the configuration: the name, the key and the line of the documentation. */
export function listComponents({
  receivers,
  exporters,
  channels,
}: {
  readonly receivers: readonly ReceiverDefinition[];
  readonly exporters: readonly ExporterDefinition[];
  readonly channels: readonly ChannelDefinition[];
}) {
  const list = (section: string, kinds: readonly (ExporterDefinition | ChannelDefinition)[]) =>
    kinds.map(({ name, options }) => ({ name, key: `${section}.${name}`, summary: options.description }));
  return {
    receivers: receivers.map(({ name, key, options }) => ({ name, key, summary: options.description })),
    exporters: list('exporters', exporters),
    channels: list('alerts', channels),
  };
}

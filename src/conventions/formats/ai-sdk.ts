import {
  identityUnder,
  readCount,
  readStructure,
  readText,
  rolesOf,
  partsAmong,
  partsIn,
  type TokenParts,
} from '../attributes.ts';
import { field, firstField, parseIfText, recordsIn, structureIn } from '../json.ts';
import { filePart, readCall, reasoningPart, textPart } from '../messages/part-reader.ts';
import { readDocuments } from '../messages/payloads.ts';
import { readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';
import type { Attributes } from '../../domain/trace/span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Vercel AI SDK 3 to 7: `ai.*` spans (scope `ai`, v7's legacy too), and v7's GenAI spans (`gen_ai`), of which only the SDK's additions are read. */
export const aiSdk: Convention = {
  name: 'ai-sdk',
  detect,
  read,
  signals: { keyPrefixes: ['ai.', 'aisdk.'], scopes: ['ai', 'gen_ai'] },
  switches: [
    {
      emitter: 'Vercel AI SDK 3 to 6, and 7 with its legacy spans',
      scopes: ['ai'],
      setting:
        'in the AI SDK set recordInputs and recordOutputs of experimental_telemetry (version 7: of telemetry) to true, or leave them out',
      sendsByDefault: true,
      source: 'recorded: ai 4 to 7',
    },
    {
      emitter: 'Vercel AI SDK 7',
      scopes: ['gen_ai'],
      setting:
        'in the AI SDK set recordInputs and recordOutputs of the telemetry option to true, or leave them out',
      sendsByDefault: true,
      source: 'recorded: ai 7',
    },
  ],
};

const OPERATION_ROLES = rolesOf({
  agent: 'ai.generateText ai.streamText ai.generateObject ai.streamObject',
  llm: 'ai.generateText.doGenerate ai.generateObject.doGenerate ai.streamText.doStream ai.streamObject.doStream',
  tool: 'ai.toolCall',
  embedding: 'ai.embed ai.embedMany ai.embed.doEmbed ai.embedMany.doEmbed',
  retriever: 'ai.rerank',
});

const IDENTITY_PREFIXES = ['ai.telemetry.metadata.', 'ai.settings.context.'];

function findOperation(span: SpanView['span']): string | undefined {
  const id = readText(span.attributes, 'ai.operationId');
  const named = readText(span.attributes, 'operation.name')?.split(' ')[0];
  return id ?? (named?.startsWith('ai.') === true ? named : undefined);
}

/** Key of a model call whose other keys stand under the call's name (`stream.response.text`). */
const CALLED = 'aisdk.model.id';

function detect({ span }: SpanView): boolean {
  const isPlain = span.scopeName === 'gen_ai' && span.attributes.has('gen_ai.operation.name');
  return isPlain || findOperation(span) !== undefined || span.attributes.has(CALLED);
}

function read(sent: SpanView): SpanFacts {
  const isCalled = sent.span.attributes.has(CALLED);
  const view = isCalled ? underOwnPrefix(sent) : sent;
  const { attributes } = view.span;
  const operation = findOperation(view.span) ?? (isCalled ? 'ai.streamText.doStream' : undefined);
  const role = operation === undefined ? undefined : OPERATION_ROLES.get(operation);
  const shared: SpanFacts = { ...identityUnder(attributes, IDENTITY_PREFIXES), usage: findUsage(view) };
  if (operation === undefined) {
    return { ...shared, outputGrouped: true, documents: rerankedDocuments(view) };
  }
  if (role === 'tool') {
    return { ...shared, role, ...readTool(attributes) };
  }
  return {
    ...shared,
    role,
    agent: role === 'agent' ? readText(attributes, 'ai.telemetry.functionId', 'resource.name') : undefined,
    ...findPrompt(view),
    output: role === 'agent' || role === 'llm' ? findOutput(view) : undefined,
    outputGrouped: role === 'agent' ? true : undefined,
    documents: rerankedDocuments(view),
    model: readText(
      attributes,
      'ai.response.model',
      'gen_ai.response.model',
      'ai.model.id',
      'gen_ai.request.model',
    ),
    provider: readText(attributes, 'ai.model.provider', 'gen_ai.system'),
    responseId: readText(attributes, 'ai.response.id', 'gen_ai.response.id'),
    finishReason: readText(attributes, 'ai.response.finishReason', 'ai.finishReason'),
  };
}

function underOwnPrefix(view: SpanView): SpanView {
  const renamed = [...view.span.attributes].map(([key, value]): [string, string] => [
    key.replace(/^(aisdk\.|\w+\.(?=(prompt|response|usage)\.))/, 'ai.'),
    value,
  ]);
  return { ...view, span: { ...view.span, attributes: new Map(renamed) } };
}

function findUsage(view: SpanView): SpanFacts['usage'] {
  const count = (...keys: string[]): number | null => readCount(view.span.attributes, ...keys) ?? null;
  return {
    ...ownParts(view),
    inputTokens: count('ai.usage.inputTokens', 'ai.usage.promptTokens'),
    outputTokens: count('ai.usage.outputTokens', 'ai.usage.completionTokens'),
    totalTokens: count('ai.usage.totalTokens'),
  };
}

/** Reads cached tokens and thoughts: in version 4 from the provider's metadata alone, as in version 5 the writes to a cache. */
function ownParts({ span }: SpanView): TokenParts {
  const text = readText(span.attributes, 'ai.response.providerMetadata');
  const told = partsIn(structureIn(text));
  const parts = partsAmong(span.attributes);
  return {
    cachedInputTokens: parts.cachedInputTokens ?? told.cachedInputTokens,
    cacheWriteTokens: parts.cacheWriteTokens ?? told.cacheWriteTokens,
    reasoningTokens: parts.reasoningTokens ?? told.reasoningTokens,
  };
}

function readTool(attributes: Attributes): SpanFacts {
  return {
    toolName: readText(attributes, 'ai.toolCall.name'),
    toolCallId: readText(attributes, 'ai.toolCall.id'),
    toolArgs: parseIfText(readText(attributes, 'ai.toolCall.args', 'ai.toolCall.input')),
    toolResult: parseIfText(readText(attributes, 'ai.toolCall.result', 'ai.toolCall.output')),
  };
}

/** Finds the prompt: `ai.prompt` is what the caller passed, `ai.prompt.messages` is what was sent to the model. */
function findPrompt(view: SpanView): { system?: string[] | undefined; input?: NormalMessage[] | undefined } {
  const sent = readStructure(view, 'ai.prompt.messages');
  if (sent !== undefined) {
    return { input: readMessages(sent, 'user') };
  }
  const prompt = readStructure(view, 'ai.prompt');
  if (!isRecord(prompt)) {
    return { input: readMessages(prompt, 'user') };
  }
  return {
    system: readSystem(firstField(prompt, 'system', 'instructions')),
    input: ['messages', 'prompt'].flatMap((key) => readMessages(field(prompt, key), 'user')),
  };
}

function findOutput(view: SpanView): NormalPart[] {
  const { attributes } = view.span;
  const calls = attributes.has('ai.response.toolCalls') ? 'ai.response.toolCalls' : 'ai.result.toolCalls';
  return [
    ...reasoningPart(reasoningText(readStructure(view, 'ai.response.reasoning'))),
    ...textPart(readText(attributes, 'ai.response.text', 'ai.result.text')),
    ...textPart(readText(attributes, 'ai.response.object', 'ai.result.object')),
    ...recordsIn(readStructure(view, calls)).flatMap(readCall),
    ...recordsIn(readStructure(view, 'ai.response.files')).flatMap((file) =>
      filePart(firstField(file, 'mediaType', 'mimeType'), firstField(file, 'data', 'base64', 'url')),
    ),
  ];
}

function reasoningText(value: unknown): unknown {
  return Array.isArray(value)
    ? value.map((item) => (isRecord(item) ? (field(item, 'text') ?? '') : item))
    : value;
}

/** Reads the documents of a rerank in their new order, when both were recorded. */
function rerankedDocuments(view: SpanView): SpanFacts['documents'] {
  const documents = readStructure(view, 'ai.documents');
  if (!Array.isArray(documents)) {
    return undefined;
  }
  const ranking = readStructure(view, 'ai.ranking');
  if (!Array.isArray(ranking)) {
    return readDocuments(documents.map(parseIfText));
  }
  return recordsIn(ranking).flatMap((rank) => {
    const index = firstField(rank, 'index', 'originalIndex');
    const score = firstField(rank, 'score', 'relevanceScore');
    const found = readDocuments([typeof index === 'number' ? parseIfText(documents[index]) : undefined]);
    return typeof score === 'number' ? found.map((document) => ({ ...document, score })) : found;
  });
}

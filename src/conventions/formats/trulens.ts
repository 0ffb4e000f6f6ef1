import { alwaysSends } from '../advice/content-switch.ts';
import { readCount, readStructure, readText, rolesOf } from '../attributes.ts';
import { type Fields, parseValue } from '../json.ts';
import { answerIn, outcomeFacts, questionIn, readDocuments, readOutcome } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/** TruLens: functions of the application, whose kind is an attribute. */
export const trulens: Convention = {
  name: 'trulens',
  detect: ({ span }) => span.attributes.has(`${PREFIX}span_type`),
  read,
  signals: { keyPrefixes: ['ai.observability.'], scopes: ['trulens.otel'] },
  switches: alwaysSends('TruLens', ['trulens.otel'], 'recorded by others: trulens 2.16.0'),
};

const PREFIX = 'ai.observability.';

const TYPE_ROLES = rolesOf({
  agent: 'record_root agent',
  llm: 'generation',
  retriever: 'retrieval reranking',
  tool: 'tool mcp',
  evaluation: 'eval eval_root',
});

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, `${PREFIX}span_type`) ?? '';
  const role = TYPE_ROLES.get(type) ?? 'container';
  if (role === 'agent') {
    return { role, ...(type === 'record_root' ? recordFacts(view) : { agent: name }) };
  }
  const returned = readStructure(view, `${PREFIX}call.return`);
  if (role === 'llm') {
    return { role, ...generationFacts(view), output: answerIn(returned) };
  }
  if (role === 'retriever') {
    const contexts = readStructure(view, `${PREFIX}retrieval.retrieved_contexts`);
    return { role, documents: readDocuments(contexts ?? returned) };
  }
  return role === 'tool'
    ? { role, toolName: name, toolArgs: callArguments(view), ...outcomeFacts(readOutcome(returned)) }
    : { role };
}

function generationFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  return {
    input: questionIn(callArguments(view)),
    model: readText(attributes, `${PREFIX}cost.model`),
    usage: {
      inputTokens: readCount(attributes, `${PREFIX}cost.num_prompt_tokens`) ?? null,
      outputTokens: readCount(attributes, `${PREFIX}cost.num_completion_tokens`) ?? null,
    },
  };
}

/** Reads the record of a run. Its ground truth is no output of the application. */
function recordFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const value = (key: string): unknown => readStructure(view, `${PREFIX}record_root.${key}`);
  return {
    agent: readText(attributes, `${PREFIX}app_name`),
    agentVersion: readText(attributes, `${PREFIX}app_version`),
    input: questionIn(value('input')),
    output: answerIn(value('output')),
  };
}

/** Puts the arguments of a function together, which are one attribute each. */
function callArguments({ span }: SpanView): Fields {
  const start = `${PREFIX}call.kwargs.`;
  const keys = [...span.attributes.keys()].filter((key) => key.startsWith(start));
  return Object.fromEntries(
    keys.map((key) => [key.slice(start.length), parseValue(span.attributes.get(key) ?? '')]),
  );
}

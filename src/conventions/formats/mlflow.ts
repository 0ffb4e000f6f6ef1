import { alwaysSends } from '../advice/content-switch.ts';
import { readStructure, readText, rolesOf } from '../attributes.ts';
import { parseIfText, structureIn } from '../json.ts';
import { calledFacts, exchangeFacts, readDocuments, readOutcome } from '../messages/payloads.ts';
import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';
import { usageIn } from '../token-parts.ts';
import { textOrUndefined } from '../../domain/unknown-values.ts';

/** MLflow tracing: every attribute's value is JSON, plain texts and numbers too. */
export const mlflow: Convention = {
  name: 'mlflow',
  detect: ({ span }) => span.attributes.has('mlflow.spanType'),
  read,
  signals: { keyPrefixes: ['mlflow.'], scopePrefixes: ['mlflow'] },
  switches: alwaysSends('MLflow', ['mlflow*'], 'issue 24163 of mlflow, which asks for one'),
};

const TYPE_ROLES = rolesOf({
  agent: 'AGENT',
  llm: 'LLM CHAT_MODEL',
  tool: 'TOOL',
  retriever: 'RETRIEVER RERANKER',
  embedding: 'EMBEDDING',
  evaluation: 'EVALUATOR',
});

const USAGE = [['input_tokens'], ['output_tokens'], ['total_tokens']] satisfies Parameters<typeof usageIn>[1];

function read(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = textIn(view, 'mlflow.spanType')?.toUpperCase() ?? '';
  const role = TYPE_ROLES.get(type) ?? 'container';
  const given = readStructure(view, 'mlflow.spanInputs');
  const got = readStructure(view, 'mlflow.spanOutputs');
  const facts: SpanFacts = {
    role,
    session: textIn(view, 'mlflow.trace.session'),
    user: textIn(view, 'mlflow.trace.user'),
  };
  if (role === 'tool') {
    return { ...facts, toolName: name, ...calledFacts(given, readOutcome(parseIfText(got))) };
  }
  if (role === 'retriever') {
    return { ...facts, documents: readDocuments(got) };
  }
  return {
    ...facts,
    agent: role === 'agent' ? name : undefined,
    model: textIn(view, 'mlflow.llm.model'),
    usage: usageIn(structureIn(attributes.get('mlflow.chat.tokenUsage')), USAGE),
    ...exchangeFacts(role, given, got),
  };
}

function textIn({ span }: SpanView, key: string): string | undefined {
  return textOrUndefined(parseIfText(readText(span.attributes, key)));
}

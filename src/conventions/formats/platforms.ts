import { alwaysSends, type Convention, type SpanFacts, type SpanView } from '../normalised-span.ts';
import {
  hasKey,
  identityUnder,
  readCount,
  readStructure,
  readText,
  rolesOf,
  usageIn,
} from '../attributes.ts';
import { field, type Fields, firstField, parseIfText, parseValue, structureIn } from '../json.ts';
import { unwrapBlock } from '../messages/part-reader.ts';
import {
  answerIn,
  calledFacts,
  exchangeFacts,
  functionFacts,
  outcomeFacts,
  questionIn,
  readDocuments,
  readOutcome,
  requestIn,
  responseIn,
} from '../messages/payloads.ts';
import { isRecord, textOrUndefined } from '../../domain/unknown-values.ts';

/** Braintrust's tracers: input, output, metadata and metrics as one JSON value each. */
export const braintrust: Convention = {
  name: 'braintrust',
  detect: ({ span }) => hasKey(span.attributes, /^braintrust\./),
  read: readBraintrust,
  signals: { keyPrefixes: ['braintrust.'] },
  switches: alwaysSends(
    'Braintrust',
    ['braintrust*', '@braintrust/*'],
    'source of braintrust’s tracers for Go and Java',
  ),
};

const BRAINTRUST_TYPE_ROLES = rolesOf({
  llm: 'llm',
  tool: 'tool',
  evaluation: 'score',
  container: 'eval task function',
});

const BRAINTRUST_PREFIX = 'braintrust.';

function readBraintrust(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const value = (key: string): unknown => readStructure(view, BRAINTRUST_PREFIX + key);
  const about = value('span_attributes');
  const type = field(about, 'type') ?? attributes.get(`${BRAINTRUST_PREFIX}span_attributes.type`);
  const role = BRAINTRUST_TYPE_ROLES.get(typeof type === 'string' ? type : '');
  const given = value('input_json');
  const got = value('output_json');
  const metadata = value('metadata');
  if (role === 'tool') {
    const toolName = textOrUndefined(field(about, 'name')) ?? name;
    return { role, toolName, ...calledFacts(given, readOutcome(got)) };
  }
  if (role === 'llm') {
    return {
      role,
      ...requestIn(Array.isArray(given) ? { messages: given } : given),
      output: responseIn(Array.isArray(got) ? choicesIn(got) : got),
      model: textOrUndefined(field(metadata, 'model')),
      provider: textOrUndefined(field(metadata, 'provider')),
      usage: usageIn(value('metrics'), [['prompt_tokens'], ['completion_tokens'], ['tokens']]),
    };
  }
  return {
    // Spans of other conventions say themselves what they are: the platform's keys may be on any.
    role: role ?? (given === undefined && got === undefined ? undefined : 'container'),
    ...functionFacts(given, got),
  };
}

/** Reads the list of choices, or of the items of a response, from wrapped clients. */
function choicesIn(list: readonly unknown[]): Fields {
  const areChoices = list.some((item) => isRecord(field(item, 'message')));
  return areChoices ? { choices: list } : { output: list };
}

/** Laminar: traced functions with their input and output. Its model calls are `traceloop-flattened` or `otel-genai`. */
export const laminar: Convention = {
  name: 'laminar',
  detect: ({ span }) => hasKey(span.attributes, /^lmnr\./),
  read: readLaminar,
  signals: { keyPrefixes: ['lmnr.'], scopePrefixes: ['lmnr', '@lmnr-ai/'] },
  switches: {
    emitter: 'Laminar',
    scopes: ['lmnr*', '@lmnr-ai/*'],
    setting:
      'in Laminar leave ignore_input and ignore_output of observe (JavaScript: ignoreInput, ignoreOutput) out or set them to false',
    sendsByDefault: true,
    source: 'users of lmnr’s observe (browser-use)',
  },
};

const LAMINAR_TYPE_ROLES = rolesOf({
  llm: 'LLM CACHED',
  tool: 'TOOL',
  evaluation: 'EVALUATOR',
  container: 'EVALUATION',
});

function readLaminar(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, 'lmnr.span.type');
  const given = readStructure(view, 'lmnr.span.input');
  const got = readStructure(view, 'lmnr.span.output');
  const isStep = given !== undefined || got !== undefined;
  // A platform key says nothing of the kind; model calls of other conventions have a type of `DEFAULT`.
  const role = LAMINAR_TYPE_ROLES.get(type ?? '') ?? (isStep ? 'container' : undefined);
  const prefixes = ['lmnr.association.properties.', 'lmnr.association.properties.metadata.'];
  const facts: SpanFacts = {
    role: role === 'container' && attributes.has('gen_ai.operation.name') ? undefined : role,
    ...identityUnder(attributes, prefixes),
  };
  if (role === 'tool') {
    return { ...facts, toolName: name, ...calledFacts(given, readOutcome(got)) };
  }
  return role === 'llm' ? facts : { ...facts, ...functionFacts(given, got) };
}

/** LangSmith's SDKs: the raw inputs and outputs of each run as one JSON text each, for anything that was traced. */
export const langsmith: Convention = {
  name: 'langsmith',
  detect: ({ span }) => span.attributes.has(KIND),
  read: readLangsmith,
  signals: { keyPrefixes: ['langsmith.'], scopePrefixes: ['langsmith'] },
  switches: {
    emitter: 'LangSmith',
    scopes: ['langsmith'],
    setting:
      'leave LANGSMITH_HIDE_INPUTS and LANGSMITH_HIDE_OUTPUTS (in code: hide_inputs and hide_outputs of the client) unset or set them to false',
    sendsByDefault: true,
    source: 'LangSmith’s page on masking inputs and outputs; source of langsmith 0.15, client',
  },
};

const KIND = 'langsmith.span.kind';

const KIND_ROLES = rolesOf({
  llm: 'llm',
  container: 'chain prompt parser',
  tool: 'tool',
  retriever: 'retriever',
  embedding: 'embedding',
});

/** Names of chains that are an agent's work: the conversation of the Claude Agent SDK. */
const AGENT_NAMES = new Set(['claude.conversation']);

function readLangsmith(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const role = AGENT_NAMES.has(name) ? 'agent' : (KIND_ROLES.get(attributes.get(KIND) ?? '') ?? 'container');
  const given = readStructure(view, 'gen_ai.prompt');
  const got = readStructure(view, 'gen_ai.completion');
  const facts: SpanFacts = { role, ...identityUnder(attributes, ['langsmith.metadata.']) };
  if (role === 'tool') {
    return { ...facts, toolName: name, ...toolFacts(given, got) };
  }
  if (role === 'retriever') {
    return { ...facts, documents: readDocuments(outputIn(got)) };
  }
  return {
    ...facts,
    agent: role === 'agent' ? name : readText(attributes, 'langsmith.metadata.lc_agent_name'),
    model: readText(attributes, 'gen_ai.response.model', 'langsmith.metadata.model'),
    ...exchangeFacts(role, given, got),
  };
}

function outputIn(value: unknown): unknown {
  return firstField(value, 'outputs', 'output') ?? value;
}

function toolFacts(given: unknown, got: unknown): SpanFacts {
  const input = field(given, 'input');
  const outcome = readOutcome(outputIn(got));
  const content = field(outcome.value, 'content');
  const value = Array.isArray(content) ? unwrapBlock(content) : outcome.value;
  const facts = calledFacts(given, { ...outcome, value });
  return isRecord(input) ? { ...facts, toolArgs: input } : facts;
}

/** MLflow tracing: every attribute's value is JSON, plain texts and numbers too. */
export const mlflow: Convention = {
  name: 'mlflow',
  detect: ({ span }) => span.attributes.has('mlflow.spanType'),
  read: readMlflow,
  signals: { keyPrefixes: ['mlflow.'], scopePrefixes: ['mlflow'] },
  switches: alwaysSends('MLflow', ['mlflow*'], 'issue 24163 of mlflow, which asks for one'),
};

const MLFLOW_TYPE_ROLES = rolesOf({
  agent: 'AGENT',
  llm: 'LLM CHAT_MODEL',
  tool: 'TOOL',
  retriever: 'RETRIEVER RERANKER',
  embedding: 'EMBEDDING',
  evaluation: 'EVALUATOR',
});

const USAGE = [['input_tokens'], ['output_tokens'], ['total_tokens']] satisfies Parameters<typeof usageIn>[1];

function readMlflow(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = textIn(view, 'mlflow.spanType')?.toUpperCase() ?? '';
  const role = MLFLOW_TYPE_ROLES.get(type) ?? 'container';
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

/** TruLens: functions of the application, whose kind is an attribute. */
export const trulens: Convention = {
  name: 'trulens',
  detect: ({ span }) => span.attributes.has(`${TRULENS_PREFIX}span_type`),
  read: readTrulens,
  signals: { keyPrefixes: ['ai.observability.'], scopes: ['trulens.otel'] },
  switches: alwaysSends('TruLens', ['trulens.otel'], 'recorded by others: trulens 2.16.0'),
};

const TRULENS_PREFIX = 'ai.observability.';

const TRULENS_TYPE_ROLES = rolesOf({
  agent: 'record_root agent',
  llm: 'generation',
  retriever: 'retrieval reranking',
  tool: 'tool mcp',
  evaluation: 'eval eval_root',
});

function readTrulens(view: SpanView): SpanFacts {
  const { attributes, name } = view.span;
  const type = readText(attributes, `${TRULENS_PREFIX}span_type`) ?? '';
  const role = TRULENS_TYPE_ROLES.get(type) ?? 'container';
  if (role === 'agent') {
    return { role, ...(type === 'record_root' ? recordFacts(view) : { agent: name }) };
  }
  const returned = readStructure(view, `${TRULENS_PREFIX}call.return`);
  if (role === 'llm') {
    return { role, ...generationFacts(view), output: answerIn(returned) };
  }
  if (role === 'retriever') {
    const contexts = readStructure(view, `${TRULENS_PREFIX}retrieval.retrieved_contexts`);
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
    model: readText(attributes, `${TRULENS_PREFIX}cost.model`),
    usage: {
      inputTokens: readCount(attributes, `${TRULENS_PREFIX}cost.num_prompt_tokens`) ?? null,
      outputTokens: readCount(attributes, `${TRULENS_PREFIX}cost.num_completion_tokens`) ?? null,
    },
  };
}

/** Reads the record of a run. Its ground truth is no output of the application. */
function recordFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const value = (key: string): unknown => readStructure(view, `${TRULENS_PREFIX}record_root.${key}`);
  return {
    agent: readText(attributes, `${TRULENS_PREFIX}app_name`),
    agentVersion: readText(attributes, `${TRULENS_PREFIX}app_version`),
    input: questionIn(value('input')),
    output: answerIn(value('output')),
  };
}

/** Puts the arguments of a function together, which are one attribute each. */
function callArguments({ span }: SpanView): Fields {
  const start = `${TRULENS_PREFIX}call.kwargs.`;
  const keys = [...span.attributes.keys()].filter((key) => key.startsWith(start));
  return Object.fromEntries(
    keys.map((key) => [key.slice(start.length), parseValue(span.attributes.get(key) ?? '')]),
  );
}

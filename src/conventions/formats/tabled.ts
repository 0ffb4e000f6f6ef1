import type { ContentSwitch, Convention, SpanView } from '../normalised-span.ts';
import { readText } from '../attributes.ts';
import type { ConventionTable } from '../../domain/trace/convention-table.ts';
import { type BuiltInKind, toConvention } from '../tables/table-convention.ts';

/** Creates the convention of a table of this program, for an emitter that was seen to send content without a setting. */
function tabled(
  table: ConventionTable<BuiltInKind>,
  emitter: Pick<ContentSwitch, 'emitter' | 'scopes' | 'source'>,
): Convention {
  const setting = `${emitter.emitter} always sends content in recordings, and no setting for it is known: look for a span processor or a Collector that takes it out`;
  const switches = { ...emitter, setting, sendsByDefault: true as const };
  return { ...toConvention(table), switches };
}

const monocleTable = tabled(
  {
    name: 'monocle',
    match: { scope: 'monocle_apptrace*', attribute: 'monocle_apptrace.version' },
    kind: {
      from: 'span.type',
      values: {
        'agentic.request': 'agent',
        'agentic.turn': 'agent',
        'agentic.invocation': 'agent',
        'agentic.tool.invocation': 'tool',
        inference: 'model',
        'inference.framework': 'model',
        retrieval: 'retrieval',
      },
    },
    fields: {
      input: 'event:data.input/input',
      output: 'event:data.output/response',
      'tool.name': 'entity.1.name',
      'tool.arguments': 'event:data.input/input',
      'tool.result': 'event:data.output/response',
      documents: 'event:data.output/response $.retrieved_references',
      error: 'event:data.output/response',
      session: 'scope.agentic.session',
      'usage.input': 'event:metadata/prompt_tokens',
      'usage.output': 'event:metadata/completion_tokens',
      'usage.total': 'event:metadata/total_tokens',
    },
  },
  { emitter: 'Monocle', scopes: ['monocle_apptrace*'], source: 'spans of monocle_apptrace 0.5 to 0.7' },
);

/** Monocle: content is in events; the response of a failed span is its error. Its entities come in any order and say what they are. */
export const monocle: Convention = {
  ...monocleTable,
  read: (view) => {
    const facts = monocleTable.read(view);
    const agent = facts.role === 'agent' ? monocleEntity(view, 'agent.') : undefined;
    return { ...facts, agent, model: monocleEntity(view, 'model.') };
  },
};

function monocleEntity({ span: { attributes } }: SpanView, type: string): string | undefined {
  const numbers = [1, 2, 3, 4].filter((n) => attributes.get(`entity.${n}.type`)?.startsWith(type));
  return readText(attributes, ...numbers.map((n) => `entity.${n}.name`));
}

/** any-agent of Mozilla: what a span gave is in one attribute. Only the first model call has its input. */
export const anyAgent: Convention = tabled(
  {
    name: 'any-agent',
    match: { scope: 'any_agent*', attribute: 'any_agent.version' },
    kind: {
      from: 'gen_ai.operation.name',
      values: { call_llm: 'model', execute_tool: 'tool', invoke_agent: 'agent' },
    },
    fields: {
      output: 'gen_ai.output',
      'tool.arguments': 'gen_ai.tool.args',
      'tool.result': 'gen_ai.output',
    },
  },
  { emitter: 'any-agent', scopes: ['any_agent*'], source: 'spans of any-agent 1.9' },
);

/** AgentOps, with the spans of its instrumentation of CrewAI. Its model calls are `traceloop-flattened`. */
export const agentops: Convention = tabled(
  {
    name: 'agentops',
    match: { scope: 'agentops.*', attribute: 'agentops.span.kind' },
    kind: {
      from: 'agentops.span.kind',
      values: {
        workflow: 'workflow',
        agent: 'agent',
        tool: 'tool',
        llm: 'model',
        embedding: 'embedding',
      },
    },
    fields: {
      input: ['agentops.entity.input', 'crewai.crew.tasks.0.description'],
      output: ['agentops.entity.output', 'crewai.crew.result'],
      agent: ['agent.role', 'agent.name', 'gen_ai.agent.name'],
      'tool.name': ['tool.name', 'agentops.entity.name'],
      'tool.arguments': 'agentops.entity.input',
      'tool.result': ['tool.result', 'agentops.entity.output'],
    },
  },
  { emitter: 'AgentOps', scopes: ['agentops*'], source: 'spans of agentops 0.4, August 2025' },
);

import { readStructure, readText, rolesOf } from '../attributes.ts';
import { field, type Fields, firstField, readFields, recordsIn } from '../json.ts';
import { answerIn, questionIn } from '../messages/free-values.ts';
import { plainText } from '../messages/part-reader.ts';
import { readMessages, readSystem, answerParts } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Gemini CLI. Its keys are OpenTelemetry's, with operations and values of its own. */
export const geminiCli: Convention = {
  name: 'gemini-cli',
  detect,
  read,
  signals: { scopePrefixes: ['gemini-cli'] },
  switches: [
    {
      emitter: 'Gemini CLI',
      scopes: ['gemini-cli'],
      conventions: ['gemini-cli'],
      setting: 'in the settings of Gemini CLI set telemetry.traces and telemetry.logPrompts to true',
      sendsByDefault: false,
      source: 'recorded: @google/gemini-cli-core 0.61.0',
    },
  ],
};

const OPERATION_ROLES = rolesOf({
  llm: 'llm_call',
  tool: 'tool_call',
  agent: 'agent_call',
  container: 'schedule_tool_calls user_prompt system_prompt',
});

const INPUT = 'gen_ai.input.messages';
const OUTPUT = 'gen_ai.output.messages';

function detect({ span }: SpanView): boolean {
  return span.scopeName === 'gemini-cli';
}

function read(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const role = OPERATION_ROLES.get(attributes.get('gen_ai.operation.name') ?? '');
  const facts: SpanFacts = { role, withheld: ['input', 'output', 'system'] };
  if (role === 'llm') {
    return { ...facts, ...modelCallFacts(view) };
  }
  if (role === 'tool') {
    return { ...facts, ...toolFacts(view) };
  }
  return role === 'agent' ? { ...facts, ...agentFacts(view) } : facts;
}

function readValue(view: SpanView, key: string): unknown {
  return readStructure(view, view.span.attributes, key);
}

function modelCallFacts(view: SpanView): SpanFacts {
  const output = readValue(view, OUTPUT);
  if (isRecord(output) && Object.hasOwn(output, 'embeddings')) {
    return { role: 'embedding' };
  }
  const instructions = readValue(view, 'gen_ai.system_instructions');
  const { setting, messages } = takeSetting(readMessages(readValue(view, INPUT), 'user'));
  const system = [...(instructions === undefined ? [] : readSystem(instructions)), ...setting];
  return {
    system: system.length === 0 ? undefined : system,
    input: messages,
    output: output === undefined ? undefined : joinPieces(output),
  };
}

/** Begin of the text in which the CLI tells the model its surroundings, as the first words of the user. */
const SETTING = '<session_context>';

/** Takes the surroundings out of the words of the user. */
function takeSetting(messages: readonly NormalMessage[]): { setting: string[]; messages: NormalMessage[] } {
  const setting: string[] = [];
  const spoken = messages.flatMap((message) => {
    const parts = message.parts.filter((part) => {
      const isSetting = message.role === 'user' && part.type === 'text' && part.text.startsWith(SETTING);
      setting.push(...(isSetting ? [part.text] : []));
      return !isSetting;
    });
    return parts.length === 0 ? [] : [{ ...message, parts }];
  });
  return { setting, messages: spoken };
}

/** Joins the pieces of a streamed answer: a list of contents that are one message. */
function joinPieces(output: unknown): NormalPart[] {
  const parts: NormalPart[] = [];
  for (const part of answerParts(output)) {
    const last = parts.at(-1);
    if ((part.type === 'text' || part.type === 'reasoning') && last?.type === part.type) {
      parts[parts.length - 1] = { ...last, text: last.text + part.text };
    } else {
      parts.push(part);
    }
  }
  return parts;
}

function toolFacts(view: SpanView): SpanFacts {
  const { attributes } = view.span;
  const args = field(readFields(readValue(view, INPUT)), 'args');
  const outcome = readFields(readValue(view, OUTPUT));
  const response = readFields(field(outcome, 'response'));
  const status = field(outcome, 'status');
  const isFailed = status === 'error';
  const result = functionResponse(response);
  return {
    toolName: readText(attributes, 'gen_ai.tool.name'),
    toolCallId: readText(attributes, 'gen_ai.tool.call_id'),
    ...(args === undefined ? {} : { toolArgs: args }),
    ...(isFailed ? { error: { type: null, message: failure(response) ?? status } } : {}),
    ...(status === 'cancelled' ? { halt: 'cancelled' as const } : {}),
    ...(isFailed || status === 'cancelled' || result === undefined ? {} : { toolResult: result }),
  };
}

function functionResponse(response: Fields): unknown {
  const parts = field(response, 'responseParts');
  const [part] = recordsIn(parts);
  const held = part && field(part, 'functionResponse');
  return field(held, 'response');
}

function failure(response: Fields): string | undefined {
  const error = firstField(response, 'error');
  const said = isRecord(error) ? firstField(error, 'message') : error;
  return said === undefined ? undefined : plainText(said);
}

/** Reads a sub-agent: its parameters, and the result that the calling model gets. */
function agentFacts(view: SpanView): SpanFacts {
  const output = readValue(view, OUTPUT);
  return {
    agent: readText(view.span.attributes, 'gen_ai.agent.name'),
    input: questionIn(readValue(view, INPUT)),
    output: answerIn(isRecord(output) ? plainText(firstField(output, 'llmContent')) : output),
  };
}

import { readStructure, readText, rolesOf } from '../attributes.ts';
import { field, firstField, recordsIn } from '../json.ts';
import { plainText } from '../messages/part-reader.ts';
import { answerIn, questionIn } from '../messages/payloads.ts';
import { answerParts, readMessages, readSystem } from '../messages/read-messages.ts';
import type { Convention, NormalMessage, NormalPart, SpanFacts, SpanView } from '../normalised-span.ts';
import { isRecord } from '../../domain/unknown-values.ts';

/** Gemini CLI. Its keys are OpenTelemetry's, with operations and values of its own. */
export const geminiCli: Convention = {
  name: 'gemini-cli',
  detect: ({ span }) => span.scopeName === 'gemini-cli',
  read,
  signals: { scopePrefixes: ['gemini-cli'] },
  switches: {
    emitter: 'Gemini CLI',
    scopes: ['gemini-cli'],
    setting: 'in the settings of Gemini CLI set telemetry.traces and telemetry.logPrompts to true',
    source: 'recorded: @google/gemini-cli-core 0.61.0',
  },
};

const OPERATION_ROLES = rolesOf({
  llm: 'llm_call',
  tool: 'tool_call',
  agent: 'agent_call',
  container: 'schedule_tool_calls user_prompt system_prompt',
});

const INPUT = 'gen_ai.input.messages';
const OUTPUT = 'gen_ai.output.messages';

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
  return readStructure(view, key);
}

function modelCallFacts(view: SpanView): SpanFacts {
  const output = readValue(view, OUTPUT);
  if (isRecord(output) && Object.hasOwn(output, 'embeddings')) {
    return { role: 'embedding' };
  }
  const { setting, messages } = takeSetting(readMessages(readValue(view, INPUT), 'user'));
  const instructions = readSystem(readValue(view, 'gen_ai.system_instructions'));
  return { system: [...instructions, ...setting], input: messages, output: joinPieces(output) };
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
  const toolArgs = field(readValue(view, INPUT), 'args');
  const outcome = readValue(view, OUTPUT);
  const [response, status] = [field(outcome, 'response'), field(outcome, 'status')];
  const [part] = recordsIn(field(response, 'responseParts'));
  const isStopped = status === 'error' || status === 'cancelled';
  return {
    toolName: readText(attributes, 'gen_ai.tool.name'),
    toolCallId: readText(attributes, 'gen_ai.tool.call_id'),
    toolArgs,
    error: status === 'error' ? { type: null, message: failure(response) ?? status } : undefined,
    halt: status === 'cancelled' ? status : undefined,
    toolResult: isStopped ? undefined : field(field(part, 'functionResponse'), 'response'),
  };
}

function failure(response: unknown): string | undefined {
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

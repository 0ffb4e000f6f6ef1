import type { AgentRun, TraceReading } from '../../src/domain/trace/agent-run.ts';
import type { SystemMessage, ToolInvocationPart } from '../../src/domain/trace/messages.ts';
import { answerText, textOfMessage } from '../support/recordings/facts.ts';

/** Everything that an agent run says, once each: a second copy of anything shows as a difference. */
export interface ToldStory {
  readonly agent: string | null;
  readonly system: string;
  /** Turns before this one, in order. */
  readonly history: readonly string[];
  readonly input: readonly string[];
  /** In order; `result` is what the tool gave, or its error's text under `error`. */
  readonly calls: readonly { name: string; args: unknown; result?: unknown; error?: string }[];
  readonly answer: string;
  readonly models: readonly string[];
  /** Input and output tokens: `193/31`. */
  readonly usage: string;
  readonly session: string | null;
  readonly user: string | null;
  readonly status: 'ok' | 'error';
  readonly subRuns: number;
}

/** The story that the agents of `test/peers` play, as a run that lost nothing tells it. */
export const THE_STORY: ToldStory = {
  agent: 'weather_agent',
  system: 'You are a weather assistant.',
  history: ['user: Hi, I am Ann.', 'assistant: Hello Ann!'],
  input: ['user: What is the weather in Paris?'],
  calls: [
    { name: 'get_weather', args: { city: 'Paris' }, result: { city: 'Paris', tempC: 18, sky: 'rain' } },
  ],
  answer: 'It is 18°C and rainy in Paris right now.',
  models: ['gpt-4o-mini-2024-07-18'],
  usage: '193/31',
  session: 'sess-1',
  user: 'user-9',
  status: 'ok',
  subRuns: 0,
};

/** Stories of the runs in these traces, without those without content. */
export function toldStories(readings: readonly TraceReading[]): ToldStory[] {
  return readings.flatMap((reading) => reading.runs.filter((run) => run.scorable).map(toldStory));
}

function toldStory(run: AgentRun): ToldStory {
  const turns = (messages: AgentRun['output']) =>
    messages.map((message) => `${message.role}: ${textOfMessage(message)}`);
  const parts = run.output.flatMap((message) => message.content.parts);
  return {
    agent: run.agent,
    system: run.input.systemMessages.map(systemText).join('\n'),
    history: turns(run.input.rememberedMessages),
    input: turns(run.input.inputMessages),
    calls: parts.filter((part) => part.type === 'tool-invocation').map(toldCall),
    answer: answerText(run),
    models: run.models,
    usage: `${run.usage.inputTokens}/${run.usage.outputTokens}`,
    session: run.sessionId,
    user: run.userId,
    status: run.status,
    subRuns: run.subRuns.length,
  };
}

function toldCall({ toolInvocation: call }: ToolInvocationPart): ToldStory['calls'][number] {
  return {
    name: call.toolName,
    args: call.args,
    ...('result' in call ? { result: call.result } : {}),
    ...(call.errorText === undefined ? {} : { error: call.errorText }),
  };
}

function systemText({ content }: SystemMessage): string {
  return typeof content === 'string' ? content : content.map((part) => part.text).join('');
}

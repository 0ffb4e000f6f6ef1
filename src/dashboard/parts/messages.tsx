import type { AgentRun } from '../../domain/trace/agent-run.ts';
import type { AgentMessage } from '../../domain/trace/messages.ts';
import { showParts, showRole, showSystem, type ShownPart } from '../view-models/messages.ts';
import { LongText, Text } from './text.tsx';

/** Messages of an agent run: question, tool calls with their results, answer; then those of the agents that it called. */
export function RunMessages({ run, level = 3 }: { readonly run: AgentRun; readonly level?: number }) {
  const { input, output, subRuns } = run;
  const Heading = level === 3 ? 'h3' : 'h4';
  const system = [...input.systemMessages, ...Object.values(input.taggedSystemMessages).flat()];
  return (
    <section class="run">
      <Heading>
        Run of <Text of={run.agent ?? run.service ?? 'an agent without a name'} />
      </Heading>
      {run.notScorable !== null && (
        <p class="bad">
          – Not scorable ({run.notScorable.code}): <Text of={run.notScorable.detail} />
        </p>
      )}
      {system.length > 0 && (
        <details>
          <summary>System text</summary>
          {system.map((message, index) => (
            <LongText key={index} of={showSystem(message)} />
          ))}
        </details>
      )}
      {input.rememberedMessages.length > 0 && (
        <details>
          <summary>Earlier messages ({input.rememberedMessages.length})</summary>
          <Messages messages={input.rememberedMessages} />
        </details>
      )}
      <Messages messages={[...input.inputMessages, ...output]} />
      {subRuns.map((each) => (
        <RunMessages key={each.target.spanId} run={each} level={4} />
      ))}
    </section>
  );
}

function Messages({ messages }: { readonly messages: readonly AgentMessage[] }) {
  return (
    <ol class="messages">
      {messages.map((message, index) => (
        <li key={index} class={message.role}>
          <strong>{showRole(message)}</strong>
          {showParts(message).map((part, at) => (
            <Part key={at} part={part} />
          ))}
        </li>
      ))}
    </ol>
  );
}

/** Part of a message: a text, or a call of a tool with its result. */
export function Part({ part: { kind, title, text, result } }: { readonly part: ShownPart }) {
  if (kind === 'text') {
    return <LongText of={text} />;
  }
  return (
    <details open={kind === 'call'}>
      <summary>
        <Text of={title} />
      </summary>
      <LongText of={text} />
      {result !== undefined && (
        <>
          <p>{result.isError ? <span class="bad">✗ failed</span> : '✓ result'}</p>
          <LongText of={result.text} />
        </>
      )}
    </details>
  );
}

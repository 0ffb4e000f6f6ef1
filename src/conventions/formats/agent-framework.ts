import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/**
 * Microsoft Agent Framework's workflow span, which has a name only, and .NET's span around the tools of a call, which sums the
 * usage of the calls below it. Everything else is `otel-genai`.
 */
export const agentFramework: Convention = {
  name: 'agent-framework',
  detect,
  read,
  signals: { keyPrefixes: ['agent_framework.'], scopePrefixes: ['agent_framework'] },
  switches: [
    {
      emitter: 'Microsoft Agent Framework (Python)',
      scopes: ['agent_framework*'],
      conventions: ['agent-framework'],
      setting: 'set ENABLE_SENSITIVE_DATA=true',
      sendsByDefault: false,
      source: 'recorded: agent-framework 1.23',
    },
  ],
};

const TOOLS = 'orchestrate_tools';

function detect({ span }: SpanView): boolean {
  return (
    (span.scopeName === 'agent_framework' && span.name === 'workflow.run') ||
    (span.scopeName.startsWith('Experimental.Microsoft.') && span.name === TOOLS)
  );
}

function read({ span }: SpanView): SpanFacts {
  return span.name === TOOLS
    ? { role: 'container' }
    : { role: 'workflow', agent: span.attributes.get('workflow.name') };
}

import type { Convention, SpanFacts, SpanView } from '../normalised-span.ts';

/**
 * Microsoft Agent Framework's workflow span, which names itself only, and .NET's span around the tools of a call, which sums
 * up the usage of the calls below it; all else speaks `otel-genai`.
 */
export const agentFramework: Convention = { name: 'agent-framework', detect, read };

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

import type { Convention } from '../normalised-span.ts';

/** Microsoft Agent Framework's workflow span, which names itself only; its agents speak `otel-genai`. */
export const agentFramework: Convention = {
  name: 'agent-framework',
  detect: ({ span }) => span.scopeName === 'agent_framework' && span.name === 'workflow.run',
  read: ({ span }) => ({ role: 'workflow', agent: span.attributes.get('workflow.name') }),
};

import { describe, expect, test } from 'vitest';
import { AGENT_SIGNALS, looksLikeAgent } from '../../../src/domain/agent-signals.ts';

function source(fields: Partial<Parameters<typeof looksLikeAgent>[0]>) {
  return { scopeName: 'app', attributeKeys: [], eventNames: [], ...fields };
}

describe('the signals of an agent', () => {
  test.each(AGENT_SIGNALS.keyPrefixes)('take the attribute key prefix %s', (prefix) => {
    expect(looksLikeAgent(source({ attributeKeys: ['http.route', `${prefix}x`] }))).toBe(true);
    expect(looksLikeAgent(source({ attributeKeys: [`x${prefix}`] }))).toBe(false);
  });

  test.each(['openinference.instrumentation.crewai', '@mastra/otel-exporter', 'pydantic-ai', 'ai', 'gen_ai'])(
    'take the scope %s',
    (scopeName) => {
      expect(looksLikeAgent(source({ scopeName }))).toBe(true);
    },
  );

  test('take a span event or a log event of the GenAI conventions', () => {
    expect(looksLikeAgent(source({ eventNames: ['exception', 'gen_ai.choice'] }))).toBe(true);
  });

  test.each(['@opentelemetry/instrumentation-http', 'airflow', 'mail', ''])(
    'leave the scope %s alone',
    (scopeName) => {
      expect(
        looksLikeAgent(
          source({ scopeName, attributeKeys: ['http.route', 'aid'], eventNames: ['exception'] }),
        ),
      ).toBe(false);
    },
  );

  test('need no escape in a pattern or a string of SQL', () => {
    const { keyPrefixes, scopePrefixes, scopes, eventPrefixes } = AGENT_SIGNALS;
    for (const text of [...keyPrefixes, ...scopePrefixes, ...scopes, ...eventPrefixes]) {
      expect(text).toMatch(/^[A-Za-z0-9_.:@/-]+$/);
    }
  });
});

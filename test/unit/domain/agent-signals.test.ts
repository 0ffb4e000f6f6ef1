import { describe, expect, test } from 'vitest';
import { AGENT_SIGNALS } from '../../../src/conventions/agent-signals.ts';
import { joinSignals, looksLikeAgent } from '../../../src/domain/trace/agent-signals.ts';

function isAgent(fields: Partial<Parameters<typeof looksLikeAgent>[0]>): boolean {
  return looksLikeAgent({ scopeName: 'app', attributeKeys: [], eventNames: [], ...fields }, AGENT_SIGNALS);
}

describe('the signals of an agent', () => {
  test.each(AGENT_SIGNALS.keyPrefixes)('take the attribute key prefix %s', (prefix) => {
    expect(isAgent({ attributeKeys: ['http.route', `${prefix}x`] })).toBe(true);
    const source = { scopeName: 'app', attributeKeys: [`x${prefix}`], eventNames: [] };
    expect(looksLikeAgent(source, { ...AGENT_SIGNALS, words: [] })).toBe(false);
  });

  test.each(['openinference.instrumentation.crewai', '@mastra/otel-exporter', 'pydantic-ai', 'ai', 'gen_ai'])(
    'take the scope %s',
    (scopeName) => {
      expect(isAgent({ scopeName })).toBe(true);
    },
  );

  test('take a span event or a log event of the GenAI conventions', () => {
    expect(isAgent({ eventNames: ['exception', 'gen_ai.choice'] })).toBe(true);
  });

  test.each(['@opentelemetry/instrumentation-http', 'airflow', 'mail', ''])(
    'leave the scope %s alone',
    (scopeName) => {
      expect(isAgent({ scopeName, attributeKeys: ['http.route', 'aid'], eventNames: ['exception'] })).toBe(
        false,
      );
    },
  );

  test.each(['acme.prompt', 'inputMessages', 'acme.llm.x', 'x.Tool_Call.args', 'a.model', 'acme.agent'])(
    'take the key %s of an emitter that no convention knows',
    (key) => {
      expect(isAgent({ attributeKeys: ['http.route', key] })).toBe(true);
      expect(isAgent({ eventNames: [key] })).toBe(true);
    },
  );

  test('leave the keys of web traffic alone', () => {
    const attributeKeys =
      'http.request.method url.full user_agent.original server.address db.query.text messaging.message.id rpc.service enduser.id session.id thread.id code.function.name network.peer.address exception.message'.split(
        ' ',
      );
    expect(isAgent({ attributeKeys })).toBe(false);
  });

  test('of several conventions are joined, each once', () => {
    const joined = joinSignals([{ scopes: ['a'], keyPrefixes: ['k.'] }, { scopes: ['a', 'b'] }]);
    expect(joined).toEqual({
      scopes: ['a', 'b'],
      keyPrefixes: ['k.'],
      scopePrefixes: [],
      eventPrefixes: [],
      words: [],
    });
  });

  test('need no escape in a pattern or a string of SQL', () => {
    const { keyPrefixes, scopePrefixes, scopes, eventPrefixes } = AGENT_SIGNALS;
    for (const text of [...keyPrefixes, ...scopePrefixes, ...scopes, ...eventPrefixes]) {
      expect(text).toMatch(/^[A-Za-z0-9_.:@/-]+$/);
    }
  });
});

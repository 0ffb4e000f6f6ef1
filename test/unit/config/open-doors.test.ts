import { describe, expect, it } from 'vitest';
import { loadConfig, type ConfigInput, parseConfig } from '../../../src/configuration.ts';
import { RECEIVERS } from '../../../src/components.ts';
import { listOpenDoors } from '../../../src/config/load-config.ts';

const TOKENS = [{ name: 'a', token: 'a-token-of-16-characters' }];

function doors(config: ConfigInput): string[] {
  return listOpenDoors(parseConfig({ ...config, rules: [] }), RECEIVERS);
}

function receiving(endpoint: string, tls = false): ConfigInput['receivers'] {
  const files = { cert: 'c.pem', key: 'k.pem' };
  return { otlp: { http: { endpoint, ...(tls ? { tls: files } : {}) } } };
}

describe('open endpoints', () => {
  it('are none as long as everything listens on loopback', () => {
    expect(doors({})).toEqual([]);
    expect(doors({ receivers: receiving('[::1]:4318'), auth: { tokens: TOKENS } })).toEqual([]);
  });

  it('give a warning when other machines may send without a token', () => {
    expect(doors({ receivers: receiving('0.0.0.0:4318') })).toEqual([
      'receivers.otlp.http.endpoint: everyone who can reach 0.0.0.0:4318 may send spans: set auth.tokens',
    ]);
  });

  it('are not opened by an entry without a token, which no process compares with', () => {
    const others = [{ name: 'b', token: '' }, ...TOKENS, { name: 'c', token: '' }];

    expect(parseConfig({ auth: { tokens: others } }).auth.tokens).toMatchObject(TOKENS);
    expect(() => parseConfig({ auth: { tokens: others.slice(0, 1) } })).toThrow('no entry has a token here');
  });

  it('give a warning when tokens are sent without TLS', () => {
    const auth = { tokens: TOKENS };
    expect(doors({ receivers: receiving('0.0.0.0:4318'), auth })[0]).toContain('set receivers.otlp.http.tls');
    expect(doors({ receivers: receiving('0.0.0.0:4318', true), auth })).toEqual([]);
    expect(doors({ api: { endpoint: '0.0.0.0:4320' }, auth })[0]).toContain('set api.tls');
  });

  it('give warnings when a configuration is loaded', async () => {
    const variables = { SPANSCORE_RECEIVERS_OTLP_GRPC_ENDPOINT: '0.0.0.0:4317' };
    const { warnings } = await loadConfig({ variables, cwd: '/' });
    expect(warnings).toEqual([expect.stringContaining('everyone who can reach 0.0.0.0:4317')]);
  });
});

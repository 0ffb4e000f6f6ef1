import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { addressPolicy } from '../../../src/config/addresses/private-addresses.ts';
import { askForText } from '../../../src/judge/judge.ts';
import { configureJudges } from '../../../src/judge/judge-registry.ts';
import { createOtlpExporters } from '../../../src/delivery/exporters/otlp.ts';
import { createWebhookExporter } from '../../../src/delivery/exporters/webhook.ts';
import { createGuardedPost } from '../../../src/delivery/http/guarded-post.ts';
import { findProxy } from '../../../src/delivery/http/proxies.ts';
import { aScore } from '../../support/builders/a-score.ts';
import { startForwardProxy, type ForwardProxy } from '../../support/fakes/forward-proxy.ts';
import { startHttpReceiver, type HttpReceiver } from '../../support/fakes/http-receiver.ts';
import { replyText, startJudgeServer, type JudgeServer } from '../../support/fakes/judge-server.ts';

const never = new AbortController().signal;
let judge: JudgeServer;
let receiver: HttpReceiver;
let proxy: ForwardProxy;

beforeAll(async () => {
  judge = await startJudgeServer(() => replyText('yes'));
  receiver = await startHttpReceiver();
  proxy = await startForwardProxy({
    'judge.corp.example': Number(new URL(judge.baseUrl).port),
    'hooks.corp.example': Number(new URL(receiver.url).port),
  });
});
afterAll(() => Promise.all([judge.close(), receiver.close(), proxy.close()]));
beforeEach(() => {
  for (const name of ['http_proxy', 'https_proxy', 'all_proxy', 'no_proxy']) {
    vi.stubEnv(name, '');
    vi.stubEnv(name.toUpperCase(), '');
  }
  proxy.seen.length = 0;
});
afterEach(() => vi.unstubAllEnvs());

function ask(baseURL: string): Promise<unknown> {
  configureJudges({
    providers: { corp: { baseURL, apiKey: 'k' } },
    limits: { maxRetries: 0, timeoutMs: 5_000 },
  });
  return askForText('corp/m', { instructions: 'Judge it.', prompt: 'Is it so?' });
}

describe('a judge', () => {
  it.each(['HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'all_proxy'])(
    'whose name only the proxy of %s knows is asked through it',
    async (name) => {
      vi.stubEnv(name, proxy.url.replace('http://', 'http://me:p%40ss@'));
      vi.stubEnv('NO_PROXY', '127.0.0.1,localhost');
      await expect(ask('http://judge.corp.example:8080/v1')).resolves.toMatchObject({ value: 'yes' });
      expect(proxy.seen).toEqual(['POST http://judge.corp.example:8080/v1/chat/completions']);
      expect(proxy.authorization()).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    },
  );

  it('on loopback is asked directly', async () => {
    vi.stubEnv('HTTP_PROXY', proxy.url);
    await expect(ask(judge.baseUrl)).resolves.toMatchObject({ value: 'yes' });
    expect(proxy.seen).toEqual([]);
  });

  it('with https is reached by a tunnel', async () => {
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    await expect(ask('https://judge.corp.example/v1')).rejects.toThrow(/could not be reached/);
    expect(proxy.seen).toEqual(['CONNECT judge.corp.example:443']);
  });
});

describe('a receiver of scores and alerts', () => {
  const url = 'http://hooks.corp.example:9000';
  const send = {
    'a webhook': async () =>
      (await createWebhookExporter({ url: `${url}/hook`, attempts: 1 }).send([aScore()], never)).kind,
    'an OTLP receiver of spans': () => deliverOtlp('span-event'),
    'an OTLP receiver of logs': () => deliverOtlp('log'),
    'an alert channel': async () => {
      const post = createGuardedPost({ permits: addressPolicy([]), timeoutMs: 5_000 });
      const { status } = await post({ url: `${url}/hook`, body: '{}', headers: {} }, never);
      return status === 200 ? 'delivered' : status;
    },
  };

  async function deliverOtlp(form: 'log' | 'span-event') {
    const [exporter] = createOtlpExporters({ endpoint: url, as: [form], attempts: 1, version: '1' });
    return (await exporter?.send([aScore()], never))?.kind;
  }

  it.each(Object.entries(send))('that is %s gets its messages through the proxy', async (_name, deliver) => {
    vi.stubEnv('HTTP_PROXY', proxy.url);
    expect(await deliver()).toBe('delivered');
    expect(proxy.seen).toEqual([expect.stringMatching(/^POST http:\/\/hooks\.corp\.example:9000\//)]);
  });

  it('at a private address is refused to an alert channel behind a proxy, too', async () => {
    vi.stubEnv('HTTP_PROXY', proxy.url);
    const post = createGuardedPost({ permits: addressPolicy([]), timeoutMs: 5_000 });
    await expect(post({ url: 'http://10.0.0.5/x', body: '', headers: {} }, never)).rejects.toThrow(
      /private address/,
    );
    expect(proxy.seen).toEqual([]);
  });
});

describe('the proxy of a URL', () => {
  it.each([
    ['http://a.example', {}, undefined],
    ['http://a.example', { HTTP_PROXY: 'p:1' }, 'http://p:1'],
    ['https://a.example', { HTTP_PROXY: 'p:1' }, undefined],
    ['https://a.example', { HTTPS_PROXY: 'https://p:1', ALL_PROXY: 'http://q:1' }, 'https://p:1'],
    ['https://a.example', { HTTP_PROXY: 'http://p:1', ALL_PROXY: 'http://q:1' }, 'http://q:1'],
    ['http://a.example', { HTTP_PROXY: 'http://p:1', http_proxy: 'http://q:1' }, 'http://q:1'],
    ['http://localhost:1', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://127.0.0.9', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://[::1]:8', { HTTP_PROXY: 'http://p:1' }, undefined],
    ['http://a.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: '*' }, undefined],
    ['http://a.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'b.example, A.example' }, undefined],
    ['http://a.b.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: '.b.example' }, undefined],
    ['http://a.b.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: '*.b.example' }, undefined],
    ['http://a.b.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'b.example' }, undefined],
    ['http://ab.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'b.example' }, 'http://p:1'],
    ['http://a.example:81', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example:82' }, 'http://p:1'],
    ['http://a.example', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'a.example:80' }, undefined],
    ['http://10.1.2.3', { HTTP_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, undefined],
    ['http://11.1.2.3', { HTTP_PROXY: 'http://p:1', NO_PROXY: '10.0.0.0/8' }, 'http://p:1'],
    ['http://[fd00::1]', { HTTP_PROXY: 'http://p:1', NO_PROXY: 'fd00::1' }, undefined],
    ['http://[fd00::1]:80', { HTTP_PROXY: 'http://p:1', NO_PROXY: '[fd00::1]:80' }, undefined],
  ])('%s with %j is %s', (url, variables, expected) => {
    for (const [name, value] of Object.entries(variables)) {
      vi.stubEnv(name, value);
    }
    expect(findProxy(new URL(url))?.origin).toBe(expected);
  });

  it.each(['socks5://me:secret@p:1', 'http://'])('is refused without its words when it is %s', (value) => {
    vi.stubEnv('ALL_PROXY', value);
    expect(() => findProxy(new URL('http://a.example'))).toThrow(
      /^ALL_PROXY is no address of a proxy: write http:\/\/host:port or https:\/\/host:port$/,
    );
  });
});

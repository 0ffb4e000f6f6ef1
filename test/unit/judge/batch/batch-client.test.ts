import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createBatchClient } from '../../../../src/judge/batch/batch-client.ts';
import { JudgeError } from '../../../../src/judge/judge-error.ts';

const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeEach(() => process.on('unhandledRejection', note));
afterEach(() => process.off('unhandledRejection', note));

it('an upload that is stopped before its first byte is a failed call, and nothing else in the process fails', async () => {
  const stopping = new AbortController();
  const provider = { name: 'openai', baseURL: 'http://127.0.0.1:1/v1', apiKey: undefined };
  const client = createBatchClient(provider, globalThis.fetch, stopping.signal);
  stopping.abort();

  await expect(client.upload('questions.jsonl', '{}\n')).rejects.toThrow(JudgeError);
  // Time for a rejection that nobody waits for.
  await wait(20);
  expect(unhandled).toEqual([]);
});

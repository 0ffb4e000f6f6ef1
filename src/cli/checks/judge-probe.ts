import type { Config } from '../../app/config/index.ts';
import { judgesInUse } from '../../config/checks/judge-checks.ts';
import { showUsd } from '../../domain/money/usd.ts';
import { readErrorMessage } from '../../domain/errors.ts';
import { PREBUILT_SCORERS } from '../../components.ts';
import { redactText } from '../../telemetry/redact-fields.ts';
import type { CheckResult } from './check-result.ts';

/** Time limit of one judge call, milliseconds. */
const LIMIT_MS = 60_000;

/** Asks one short question to each judge that a rule uses and to the default judge. Each call costs a few tokens. */
export async function probeJudges(config: Config): Promise<CheckResult[]> {
  const { default: byDefault } = config.judges;
  const names = new Set([
    ...judgesInUse(config, PREBUILT_SCORERS),
    ...(byDefault === undefined ? [] : [byDefault]),
  ]);
  if (names.size === 0) {
    const detail = 'no judge is configured; to set one: SPANSCORE_JUDGE=openai/gpt-5-mini';
    return [{ check: 'judge', status: 'ok', detail }];
  }
  return Promise.all([...names].map(async (name) => probe(name, config)));
}

async function probe(name: string, config: Config): Promise<CheckResult> {
  const { askForText } = await import('../../judge/judge.ts');
  const { createConfiguredJudges } = await import('../../app/scoring/configured-judges.ts');
  const { withJudgeScope } = await import('../../judge/judge-scope.ts');
  const check = `judge ${name}`;
  const question = {
    instructions: 'This is a test of the connection.',
    prompt: 'Reply with the word ok.',
    allowEmpty: true,
    settings: { maxRetries: 0, timeoutMs: LIMIT_MS, redaction: false },
  };
  try {
    const { execution } = await withJudgeScope({ judges: createConfiguredJudges(config) }, () =>
      askForText(name, question),
    );
    const { durationMs, judgeModelId, usage, cost } = execution;
    const tokens =
      usage === undefined
        ? 'its replies have no token counts, so budgets use estimates'
        : `${usage.inputTokens ?? '?'} tokens in, ${usage.outputTokens ?? '?'} out`;
    const price = cost === undefined ? 'no known price' : `${showUsd(cost)} USD`;
    const detail = `model ${judgeModelId} answered in ${Math.round(durationMs)} ms, ${tokens}, ${price}`;
    return { check, status: 'ok', detail: redactText(detail) };
  } catch (error) {
    return {
      check,
      status: 'failed',
      detail: redactText(readErrorMessage(error)),
      fix: readFix(error, name),
    };
  }
}

function readFix(error: unknown, judge: string): string {
  const provider = `judges.providers.${judge.split('/')[0] ?? ''}`;
  switch (error instanceof Error && 'code' in error ? error.code : '') {
    case 'judge_unauthorised':
      return `set ${provider}.apiKey${judge.startsWith('openai/') ? ' (or OPENAI_API_KEY)' : ''}, and check that the account has credit`;
    case 'judge_rate_limited':
      return `wait, or set ${provider}.requestsPerMinute below what the provider allows`;
    case 'judge_misconfigured':
      return `check ${provider}.baseURL (it must end in /v1) and the name of the model`;
    case 'judge_timeout':
      return `check whether the server at ${provider}.baseURL is overloaded or still loads the model`;
    default:
      return `check ${provider}.baseURL, and that this server runs and supports OpenAI chat completions`;
  }
}

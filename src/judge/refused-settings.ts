import { isSchemaRefusal } from './fault-words.ts';
import type { JudgeError } from './judge-error.ts';

/** Settings that a model refused. */
export interface RefusedSettings {
  temperature: boolean;
  responseSchema: boolean;
  maxOutputTokens: boolean;
}

/** Most models that are remembered. Beyond it the oldest is forgotten; at worst one more call is refused. */
const MAX_REMEMBERED = 1000;

const remembered = new Map<string, RefusedSettings>();

/** Returns the refused settings of a model by its key: provider/model for named judges, the object's own names otherwise. */
export function readRefusedSettings(model: string): Readonly<RefusedSettings> {
  return remembered.get(model) ?? { temperature: false, responseSchema: false, maxOutputTokens: false };
}

/**
 * Remembers a setting that the model refuses, and returns true: the call may be repeated without it. Providers name the setting in
 * the message. Returns false for any other error.
 */
export function rememberRefusal(model: string, error: JudgeError, sent: Readonly<RefusedSettings>): boolean {
  const status = Number(error.details['status']);
  if (error.code !== 'judge_misconfigured' && error.code !== 'judge_unavailable') {
    return false;
  }
  const said = `${error.message} ${String(error.details['body'])}`;
  const refused = { ...readRefusedSettings(model) };
  const isRefusedRequest = status === 400 || status === 422;
  if (sent.temperature && isRefusedRequest && /temperature/i.test(said)) {
    refused.temperature = true;
  } else if (sent.maxOutputTokens && isRefusedRequest && /max_?(?:\w+_)?tokens/i.test(said)) {
    refused.maxOutputTokens = true;
  } else if (sent.responseSchema && isSchemaRefusal(said, status)) {
    refused.responseSchema = true;
  } else {
    return false;
  }
  remembered.delete(model);
  remembered.set(model, refused);
  const oldest = remembered.keys().next().value;
  if (remembered.size > MAX_REMEMBERED && oldest !== undefined) {
    remembered.delete(oldest);
  }
  return true;
}

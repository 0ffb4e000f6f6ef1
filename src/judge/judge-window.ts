import { JudgeError } from './judge-error.ts';
import type { JudgeUsage } from './judge-execution.ts';
import type { ModelCall, ChatMessage, ModelReply } from './model-call.ts';
import { listCauses } from '../domain/errors.ts';

/** Words of servers that refuse a question because it is too long for the model. */
const REFUSALS = [
  /context_length_exceeded|exceed_context_size|context ?window ?exceeded/i,
  /maximum (?:context|prompt|input) (?:length|window|size)/i,
  /exceed\w*[^.]{0,60}context (?:length|limit|size|window)/i,
  /context (?:length|limit|size|window)[^.]{0,60}(?:exceed|too (?:small|long))/i,
  /longer than the model's context/i,
  /context the overflows|loaded with context length/i,
  /prompt is too long|input is too long|too many tokens/i,
  /input (?:token count|length)[^.]{0,80}exceed/i,
  /reduce the length of the (?:messages|prompt|input)/i,
  /tokens \+ `?max_(?:new_)?tokens`? must be <=/i,
  /range of input length should be/i,
];

/** Places of the window in these words. */
const SIZES = [
  /"?n_ctx\\?"?\s*[:=]\s*(\d+)/i,
  /(\d+) maximum context length/i,
  /maximum (?:context|prompt|input) (?:length|window|size)[^.\d]{0,40}(\d+)/i,
  /tokens allowed \(?(\d+)/i,
  /exceeds? (?:the )?context limit: [\d\s+]+ > (\d+)/i,
  /tokens > (\d+) maximum/i,
  /context (?:length|limit|size|window)[^.\d]{0,30}(\d+)/i,
  /must be <= ?(\d+)/i,
  /exceeds (?:the )?limit of (\d+)/i,
  /input length should be \[\d+, ?(\d+)\]/i,
];

/** Sizes that a window can have. */
const LEAST_TOKENS = 256;

/**
 * Windows of well-known hosted models by the beginning of their names, the longer beginning first. Open models are missing: each of
 * their servers sets its own window.
 */
const WINDOWS: readonly (readonly [name: RegExp, tokens: number])[] = [
  [/^gpt-3\.5/, 16_385],
  [/^gpt-4\.1/, 1_047_576],
  [/^(gpt-4o|gpt-4-turbo|chatgpt-4o)/, 128_000],
  [/^gpt-4/, 8192],
  [/^gpt-5/, 272_000],
  [/^o[134]\b/, 200_000],
  [/^claude-/, 200_000],
  [/^gemini-/, 1_048_576],
];

/** Window of an unknown model in the own network, until its server says another one. */
const OWN_TOKENS = 8192;

/** Tokens a character before a model has replied: English has about 4 characters a token. */
const FIRST_RATIO = 1 / 4;
/** Least tokens a character of any text that was read whole. */
const LEAST_RATIO = 1 / 8;
/** Bytes a token of text whose tokens are not known, for a question that must fit. */
const BYTES_PER_TOKEN = 3;
/** Shortest question that is checked, in tokens. No server has a smaller window by default. */
const CHECKED_TOKENS = 3000;
/** Shortest question that teaches a ratio, in characters: the frame of a shorter one counts too much. */
const TEACHING_CHARS = 2000;
/** Characters kept free for instructions and the form of the reply. */
const TASK_CHARS = 2000;
/** Least characters of data in a question, however small the window is. */
const LEAST_ROOM = 1000;
/** Most tokens kept free for the reply. */
const REPLY_TOKENS = 1500;
/** Largest part of the window that is kept free for the reply. */
const REPLY_SHARE = 1 / 4;
/** Least tokens of a reply, however full the window is. */
const LEAST_REPLY = 256;
/** Share of a full window that a selection fills, because tokens are estimated. */
const FILLED = 0.9;
/** Wait before a question is asked again whose window somebody has to change, milliseconds. */
const RETRY_MS = 5 * 60_000;

/** Tokens a character of the replies to texts in one script. */
interface Ratios {
  /** The least, for the question whether a server read all. */
  readonly least?: number | undefined;
  /** The greatest, for the question whether a text fits. */
  readonly most?: number | undefined;
}

/**
 * Window of one configured judge: what its server reads at most, as it was configured, as the server said, or as models of its
 * name have it. Learns from replies how many tokens its characters are.
 */
export class JudgeWindow {
  readonly #judge: string;
  readonly #configured: number | undefined;
  readonly #assumed: KnownWindow | undefined;
  #refused: number | undefined;
  readonly #ratios = new Map<string, Ratios>();

  constructor(
    judge: string,
    terms: { readonly contextTokens?: number | undefined; readonly isOwn: boolean },
  ) {
    this.#judge = judge;
    this.#configured = terms.contextTokens;
    this.#assumed = findAssumedWindow(judge, terms.isOwn);
  }

  /** Tokens that evidence is selected to fit; undefined without a limit. */
  get tokens(): number | undefined {
    return this.#known ?? this.#assumed?.tokens;
  }

  /** The window where somebody has said it. */
  get #known(): number | undefined {
    const said = [this.#configured, this.#refused].filter((tokens) => tokens !== undefined);
    return said.length > 0 ? Math.min(...said) : undefined;
  }

  /** The window where it is certain. */
  get #certain(): number | undefined {
    return this.#known ?? (this.#assumed?.isExact === true ? this.#assumed.tokens : undefined);
  }

  /** Computes the characters that data like this text may have in one question; undefined without a limit. */
  roomFor(text: string): number | undefined {
    const { tokens } = this;
    if (tokens === undefined) {
      return undefined;
    }
    const reply = Math.min(REPLY_TOKENS, tokens * REPLY_SHARE);
    return Math.max(LEAST_ROOM, Math.floor((tokens - reply) / this.#mostRatio(text)) - TASK_CHARS);
  }

  /** Limits the tokens of a reply to what a certain window has beside the question: some servers refuse more. */
  limitReply(wanted: number, { messages }: Pick<ModelCall, 'messages'>): number {
    const window = this.#certain;
    if (window === undefined) {
      return wanted;
    }
    const text = joinText(messages);
    const left = Math.floor(window - text.length * this.#mostRatio(text));
    return Math.min(wanted, Math.max(LEAST_REPLY, left));
  }

  /** Throws `judge_window` for a question that is longer than a window of which somebody has said the size. */
  rejectTooLong({ messages }: Omit<ModelCall, 'signal'>): void {
    const known = this.#certain;
    const sent = this.#estimate(messages);
    if (known !== undefined && sent * FILLED > known) {
      throw this.#fault(
        `the question has about ${Math.round(sent)} tokens, more than the window of ${known} of ${this.#judge}; ${this.#advise('use a judge with a larger window')}`,
      );
    }
  }

  /**
   * Learns the window from an error with which the server refuses a question for its length. Returns the error for it; undefined
   * for any other error.
   */
  readRefusal(error: JudgeError, { messages }: Omit<ModelCall, 'signal'>): JudgeError | undefined {
    if (!isWindowRefusal(error)) {
      return undefined;
    }
    const sent = this.#estimate(messages);
    const said = readRefusedWindow(error) ?? Math.round(Math.min(sent, this.tokens ?? Infinity) / 2);
    this.#refused = Math.min(said, this.#refused ?? Infinity);
    const text = joinText(messages);
    // The question was longer than its window, so that its characters are at least so many tokens, and often more.
    const least = (said / text.length) * (1 + REPLY_SHARE);
    this.#learn(text, { most: Math.max(least, guessRatio(text) * FILLED) });
    return this.#fault(
      `${error.message}; ${this.#advise(`the window of ${this.#judge} is taken for ${said} tokens`)}`,
      error,
    );
  }

  /**
   * Compares the tokens that the server says it has read with the tokens of the question. Returns an error when it has read
   * less than half of a long question: its answer is about a part. Learns from a reply to a question that was read.
   */
  checkReply(
    { messages, responseSchema }: Omit<ModelCall, 'signal'>,
    { usage }: ModelReply,
  ): JudgeError | undefined {
    const read = countRead(usage);
    if (read === undefined) {
      return undefined;
    }
    const sent = this.#estimate(messages);
    const isLong = sent >= CHECKED_TOKENS;
    if (isLong && read < sent / 2) {
      return this.#fault(
        `the server has read ${read} of about ${Math.round(sent)} tokens of the question, so the answer is about a part of it; ${this.#advise(`enlarge the window of ${this.#judge} (Ollama: OLLAMA_CONTEXT_LENGTH or num_ctx; llama.cpp: -c)`)}`,
      );
    }
    const schema = responseSchema === undefined ? '' : JSON.stringify(responseSchema.jsonSchema);
    const text = joinText(messages);
    const ratio = read / (text.length + schema.length);
    if (text.length >= TEACHING_CHARS && ratio >= LEAST_RATIO) {
      // A part of a long question may have been cut off, which makes its ratio too small.
      this.#learn(text, isLong ? { least: Math.max(ratio, FIRST_RATIO), most: ratio } : { least: ratio });
    }
    return undefined;
  }

  #estimate(messages: readonly ChatMessage[]): number {
    const text = joinText(messages);
    return text.length * (this.#ratios.get(findScript(text))?.least ?? FIRST_RATIO);
  }

  /** Returns the tokens a character that text like this has at most. */
  #mostRatio(text: string): number {
    const most = this.#ratios.get(findScript(text))?.most;
    return most === undefined ? guessRatio(text) : most / FILLED;
  }

  #learn(text: string, { least = Infinity, most = 0 }: Ratios): void {
    const script = findScript(text);
    const known = this.#ratios.get(script);
    const lower = Math.min(least, known?.least ?? Infinity);
    const upper = Math.max(most, known?.most ?? 0);
    this.#ratios.set(script, {
      least: lower === Infinity ? undefined : lower,
      most: upper === 0 ? undefined : upper,
    });
  }

  #advise(what: string): string {
    return `${what}, and set judges.options.${this.#judge}.contextTokens to its size, so that grounding, panel, hallucination and faithfulness select evidence that fits`;
  }

  #fault(message: string, cause?: JudgeError): JudgeError {
    return new JudgeError('judge_window', message, {
      cause,
      retryAfterMs: RETRY_MS,
      details: cause?.details ?? {},
    });
  }
}

function joinText(messages: readonly ChatMessage[]): string {
  return messages.map(({ text }) => text).join('');
}

/** Guesses the tokens a character of a text of which no reply is known. */
function guessRatio(text: string): number {
  return text === '' ? 1 : Buffer.byteLength(text) / (BYTES_PER_TOKEN * text.length);
}

/** Counts the tokens that a server has read. Some count those in their cache apart. */
function countRead(usage: JudgeUsage | undefined): number | undefined {
  const { inputTokens, cachedInputTokens = 0, cacheCreationInputTokens = 0 } = usage ?? {};
  const cached = cachedInputTokens + cacheCreationInputTokens;
  return inputTokens === undefined || inputTokens >= cached ? inputTokens : inputTokens + cached;
}

/** Characters of which a text's script is told. */
const SAMPLES = 500;
/** First block of 128 characters whose scripts have a sign for a syllable or a word. */
const EAST_ASIAN = 0x2e80 >> 7;
/** Least share of letters beyond Latin in a text of another script. */
const FOREIGN_SHARE = 0.3;

/**
 * Names the script of a text by the block of its letters, because the tokens a character differ between scripts. Letters are
 * taken from the whole text.
 */
function findScript(text: string): string {
  const step = Math.max(1, Math.floor(text.length / SAMPLES));
  const blocks = new Map<number, number>();
  let letters = 0;
  for (let at = 0; at < text.length; at += step) {
    const block = Math.min(text.charCodeAt(at) >> 7, EAST_ASIAN);
    letters += 1;
    blocks.set(block, (blocks.get(block) ?? 0) + 1);
  }
  // Blocks 0 to 4 are Latin.
  const [most] = [...blocks].filter(([block]) => block > 4).sort(([, a], [, b]) => b - a);
  return most === undefined || most[1] < letters * FOREIGN_SHARE ? '' : String(most[0]);
}

interface KnownWindow {
  readonly tokens: number;
  /** True where every server of the model has this window. */
  readonly isExact: boolean;
}

/** Finds the window of a judge by the name of its model; undefined for an unknown model on the internet. */
function findAssumedWindow(judge: string, isOwn: boolean): KnownWindow | undefined {
  const model = judge.slice(judge.lastIndexOf('/') + 1);
  const known = WINDOWS.find(([name]) => name.test(model));
  if (known !== undefined) {
    return { tokens: known[1], isExact: true };
  }
  return isOwn ? { tokens: OWN_TOKENS, isExact: false } : undefined;
}

/** True for an error with which a server refuses a question because it is too long for the model. */
function isWindowRefusal(error: JudgeError): boolean {
  const { status } = error.details;
  const said = readWords(error);
  return (
    typeof status === 'number' &&
    status >= 400 &&
    status !== 429 &&
    REFUSALS.some((refusal) => refusal.test(said))
  );
}

/** Reads the size of the window from the words of a refusal. */
function readRefusedWindow(error: JudgeError): number | undefined {
  const said = readWords(error).replaceAll(/(?<=\d)[,_](?=\d{3})/g, '');
  const sizes = SIZES.map((size) => Number(size.exec(said)?.[1]));
  return sizes.find((size) => size >= LEAST_TOKENS);
}

/** Reads all that the server said; the error itself has a short quote. */
function readWords(error: JudgeError): string {
  const bodies = listCauses(error).map((cause) => (cause as { responseBody?: unknown }).responseBody);
  return [error.message, error.details['body'], ...bodies]
    .filter((text) => typeof text === 'string')
    .join('\n');
}

import { JudgeError } from './judge-error.ts';
import type { JudgeUsage } from './judge-execution.ts';
import type { ModelCall, ChatMessage, ModelReply } from './model-call.ts';
import { findAssumedWindow, type KnownWindow } from './known-windows.ts';
import { isWindowRefusal, readRefusedWindow } from './window-refusal.ts';

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

  /** Computes the characters that data like this text may have in one question; undefined without a limit. */
  roomFor(text: string): number | undefined {
    const { tokens } = this;
    if (tokens === undefined) {
      return undefined;
    }
    const most = this.#ratios.get(findScript(text))?.most;
    const perToken =
      most === undefined
        ? (BYTES_PER_TOKEN * text.length) / Math.max(1, Buffer.byteLength(text))
        : FILLED / most;
    const reply = Math.min(REPLY_TOKENS, tokens * REPLY_SHARE);
    return Math.max(LEAST_ROOM, Math.floor((tokens - reply) * perToken) - TASK_CHARS);
  }

  /** Throws `judge_window` for a question that is longer than a window of which somebody has said the size. */
  rejectTooLong({ messages }: Omit<ModelCall, 'signal'>): void {
    const known = this.#known ?? (this.#assumed?.isExact === true ? this.#assumed.tokens : undefined);
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
    // The question was longer than its window, so that its characters are at least so many tokens.
    this.#learn(text, { most: (said / text.length) * (1 + REPLY_SHARE) });
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
    return `${what}, and set judges.options.${this.#judge}.contextTokens to its size, so that evidence is selected to fit`;
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

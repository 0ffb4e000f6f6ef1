import {
  createParkedError,
  type BatchQuestion,
  type BatchReply,
  type BatchSeat,
} from '../judge/batch/batch-seat.ts';

/** Seat of one attempt at a desk. */
export class DeskSeat implements BatchSeat {
  readonly #ask: (question: BatchQuestion) => Promise<BatchReply | undefined>;
  #isParked = false;

  constructor(ask: (question: BatchQuestion) => Promise<BatchReply | undefined>) {
    this.#ask = ask;
  }

  get isParked(): boolean {
    return this.#isParked;
  }

  async answer(question: BatchQuestion): Promise<BatchReply> {
    const reply = await this.#ask(question);
    if (reply === undefined) {
      this.#isParked = true;
      throw createParkedError();
    }
    return reply;
  }
}

import { useState } from 'preact/hooks';
import { ProblemError } from './client.ts';

/** Carries out an order of a person, and says that it is done. */
export type Order = (action: () => Promise<unknown>, done: string) => void;

/** Orders of a page with the outcome of the last one in words. */
export function useOrders(onDone: () => void): { readonly outcome: string; readonly order: Order } {
  const [outcome, setOutcome] = useState('');
  const carryOut = async (action: () => Promise<unknown>, done: string): Promise<void> => {
    try {
      await action();
      setOutcome(done);
      onDone();
    } catch (error) {
      setOutcome(error instanceof ProblemError ? `Not done: ${error.problem.detail}` : String(error));
    }
  };
  return { outcome, order: (action, done) => void carryOut(action, done) };
}

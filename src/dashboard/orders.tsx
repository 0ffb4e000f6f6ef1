import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { describeFailure } from './client.ts';
import { Text } from './parts/text.tsx';

/** Carries out an order of a person, and says that it is done. */
export type Order = <T>(action: () => Promise<T>, done: string | ((result: T) => string)) => void;

interface Orders {
  /** Outcome of the last order in words. */
  readonly outcome: VNode;
  readonly isBusy: boolean;
  readonly order: Order;
  /** Takes the words away. */
  readonly forget: () => void;
}

/**
 * Orders of a part of a page, one at a time.
 * @param onDone called after each that is done
 * @param begun words while one is carried out
 */
export function useOrders(onDone: () => void = () => undefined, begun = ''): Orders {
  const [words, setWords] = useState('');
  const [isBusy, setBusy] = useState(false);
  const carryOut = async <T,>(action: () => Promise<T>, done: string | ((result: T) => string)) => {
    setWords(begun);
    setBusy(true);
    try {
      const result = await action();
      setWords(typeof done === 'string' ? done : done(result));
      onDone();
    } catch (error) {
      setWords(`Not done: ${describeFailure(error)}`);
    } finally {
      setBusy(false);
    }
  };
  const outcome = (
    <span role="status">
      <Text of={words} />
    </span>
  );
  return {
    outcome,
    isBusy,
    order: (action, done) => void carryOut(action, done),
    forget: () => setWords(''),
  };
}

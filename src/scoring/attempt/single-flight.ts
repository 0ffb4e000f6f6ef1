/** At most one call per key at a time; whoever asks meanwhile gets the same answer. */
export interface SingleFlight<T> {
  run(key: string, call: () => Promise<T>): Promise<T>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const flying = new Map<string, Promise<T>>();
  return {
    run(key, call) {
      const known = flying.get(key);
      if (known !== undefined) {
        return known;
      }
      const flight = call().finally(() => flying.delete(key));
      flying.set(key, flight);
      return flight;
    },
  };
}

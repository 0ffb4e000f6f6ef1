/** Runs at most one call per key at a time. Callers during that call get its result. */
export interface SingleFlight<T> {
  run(key: string, call: () => Promise<T>): Promise<T>;
}

export function createSingleFlight<T>(): SingleFlight<T> {
  const running = new Map<string, Promise<T>>();
  return {
    run(key, call) {
      const known = running.get(key);
      if (known !== undefined) {
        return known;
      }
      const flight = call().finally(() => running.delete(key));
      running.set(key, flight);
      return flight;
    },
  };
}

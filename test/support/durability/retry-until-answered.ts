import { until } from '../until.ts';

/** Repeats a request while the process that answers it is down or starts. */
export async function retryUntilAnswered<T>(request: () => Promise<T>, timeoutMs = 240_000): Promise<T> {
  const answers: T[] = [];
  let last: unknown;
  await until(
    async () => {
      try {
        answers.push(await request());
        return true;
      } catch (error) {
        last = error;
        return false;
      }
    },
    timeoutMs,
    () => String(last),
  );
  return answers[0] as T;
}

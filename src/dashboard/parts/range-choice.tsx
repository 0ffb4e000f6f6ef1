import { adjustQuery } from '../router.ts';
import { RANGES } from '../view-models/query-filters.ts';

/** Choice of the time that a page shows: a parameter of its address. */
export function RangeChoice({ since }: { readonly since: string }) {
  const ranges: readonly string[] = RANGES;
  return (
    <label>
      Range{' '}
      <select value={since} onChange={({ currentTarget }) => adjustQuery({ since: currentTarget.value })}>
        {(ranges.includes(since) ? ranges : [since, ...ranges]).map((range) => (
          <option key={range} value={range} selected={range === since}>
            {range}
          </option>
        ))}
      </select>
    </label>
  );
}

import { SPARK_HEIGHT, SPARK_WIDTH } from '../view-models/charts/sparkline.ts';

/** A small line, with its meaning in words. */
export function Sparkline({ path, label }: { readonly path: string; readonly label: string }) {
  return (
    <svg
      class="spark"
      role="img"
      aria-label={label}
      viewBox={`0 0 ${SPARK_WIDTH} ${SPARK_HEIGHT}`}
      width={SPARK_WIDTH}
      height={SPARK_HEIGHT}
    >
      <path d={path} />
    </svg>
  );
}

import { column, type RowOf, type Table } from './table.ts';

/** Definition of `anchors`: judgings of runs whose judge is asked again and again. */
export const ANCHORS = {
  name: 'anchors',
  columns: {
    tenant: column('LowCardinality(String)'),
    /** Name of the score rows. */
    scorer: column('LowCardinality(String)'),
    fingerprint: column('LowCardinality(String)'),
    traceId: column('String'),
    /** True for the live score with which the later ones are compared. */
    first: column('UInt8'),
    /** Directed: 0 worst, 1 best. */
    score: column('Float64'),
    atMs: column("DateTime64(3, 'UTC')"),
    /** Name of the model that answered, by its provider; '' for a first score, and where no reply names one. */
    servedModel: column('LowCardinality(String)'),
  },
  ofStore: { WrittenAt: "DateTime64(3, 'UTC')" },
} satisfies Table;

export type AnchorRow = RowOf<typeof ANCHORS>;

/** State of the anchors of a scorer's version. */
export type AnchorPhase = 'learning' | 'ok' | 'drifted';

import type { BackfillReport, PairCounts } from './backfill-report.ts';
import type { Checkpoint, PageTimes } from './checkpoint.ts';

type PageCounts = Pick<BackfillReport, 'matched' | 'sessions'>;

/** Terms of the pages of one kind of targets. */
export interface PagesTerms<Page> {
  /** Pages that are scored at the same time. */
  readonly atOnce: number;
  readonly describe: (page: Page) => {
    readonly counted: PageCounts;
    /** Number of traces that were listed for the page. */
    readonly listed: number;
    /** Place after the page. */
    readonly place: Partial<Checkpoint>;
  };
}

/** Counts of a page that is not done. */
export interface OpenPage {
  counts: BackfillReport;
}

/** Page whose targets are being scored. */
export interface PageUnderWay {
  readonly settle: Promise<PairCounts>;
  readonly open: OpenPage;
  readonly counted: PageCounts;
  readonly times: PageTimes;
  /** Number of traces that were listed for it. */
  readonly listed: number;
  readonly place: Partial<Checkpoint>;
}

import type { z } from 'zod';
import type {
  AgentItem as AgentSchema,
  AgentDetail as AgentDetailSchema,
  CostsReply,
  VersionsReply,
} from '../api/resources/agents.ts';
import type { Rate as RateSchema } from '../api/resources/aggregates/query.ts';
import type { Alert, AlertDetail, Monitor, Mute } from '../api/resources/alerts.ts';
import type { CompareReply } from '../api/resources/aggregates/compare.ts';
import type { Coverage, FunnelReply } from '../api/resources/aggregates/coverage.ts';
import type { DistributionReply } from '../api/resources/aggregates/distribution.ts';
import type { OverviewReply } from '../api/resources/aggregates/overview.ts';
import type { SeriesReply } from '../api/resources/aggregates/series.ts';
import type { Applied, Changes } from '../api/resources/config.ts';
import type { Status } from '../api/resources/status.ts';
import type { SignIn } from '../api/resources/sign-in.ts';
import type { Backfill, NewBackfill } from '../api/resources/backfills.ts';
import type { Issue as IssueSchema, IssueDetail as IssueDetailSchema } from '../api/resources/issues.ts';
import type { JudgePage, RuleItem, ScorerItem } from '../api/resources/configured.ts';
import type {
  ScorerAgreement,
  ScorerEstimates,
  LabelQueue,
  NewLabel,
  StoredLabel,
} from '../api/resources/labels.ts';
import type { NewPreview, Preview } from '../api/resources/previews.ts';
import type { DecisionItem, ScoreDetail, ScoreItem } from '../api/json/rows.ts';
import type { ScoreNow } from '../api/resources/scores.ts';
import type { SessionDetail, SessionItem } from '../api/resources/sessions.ts';
import type { SpanItem, TraceCounts, TraceDetail, TraceItem } from '../api/resources/traces.ts';

/** Page of a list. */
interface Page<Schema extends z.ZodType> {
  readonly items: z.output<Schema>[];
  readonly next: string | null;
}

/** Share of runs with its 95 % interval. */
export type Rate = Omit<z.output<typeof RateSchema>, 'effectiveN'>;

export type AgentItem = z.output<typeof AgentSchema>;

/** Pass rate of a scorer on the runs of an agent, against the 14 days before. */
export type AgentQuality = AgentItem['qualities'][number];

export type AgentDetail = z.output<typeof AgentDetailSchema>;

/** Two versions of an agent, quality by quality. */
export type Versions = z.output<typeof VersionsReply>;

/** Money of agents and judges by a facet and a bucket of time. */
export type Costs = z.output<typeof CostsReply>;

/** Incident with its cause, what was sent about it, and what people wrote. */
export type Incident = z.output<typeof AlertDetail>;

/** Counts of traces by filter, and over time. */
export type Facets = z.output<typeof TraceCounts>;

export type Funnel = z.output<typeof FunnelReply>;

/** Kind of failure that runs share, with its share of all runs. */
export type Issue = z.output<typeof IssueSchema>;

/** Issue with examples, where it occurs, and what people did with it. */
export type IssueDetail = z.output<typeof IssueDetailSchema>;

/** Name of an issue, where another page names it. */
export type IssueName = Pick<Issue, 'id' | 'title' | 'kind'>;

/** Replies of the routes that the dashboard reads, by their path. The schemas are those with which the server checks itself. */
export interface Replies {
  '/agents': { readonly items: readonly AgentItem[]; readonly next: string | null };
  '/agents/{agent}': AgentDetail;
  '/agents/{agent}/versions': Versions;
  '/alerts': { readonly items: z.output<typeof Alert>[]; readonly next: string | null };
  '/alerts/{id}': Incident;
  '/backfills': Page<typeof Backfill>;
  '/backfills/{id}': z.output<typeof Backfill>;
  '/compare': z.output<typeof CompareReply>;
  '/coverage': Page<typeof Coverage>;
  '/costs': Costs;
  '/coverage/funnel': Funnel;
  '/distribution': z.output<typeof DistributionReply>;
  '/issues': { readonly items: readonly Issue[]; readonly next: string | null };
  '/issues/{id}': IssueDetail;
  '/issues/{id}/traces': {
    readonly items: readonly {
      readonly traceId: string;
      readonly at: string | null;
      readonly version: string;
      readonly userId: string;
    }[];
  };
  '/judges': z.output<typeof JudgePage>;
  '/monitors': Page<typeof Monitor>;
  '/labels/queue': z.output<typeof LabelQueue>;
  '/labels/estimate': z.output<typeof ScorerEstimates>;
  '/labels/agreement': z.output<typeof ScorerAgreement>;
  '/mutes': Page<typeof Mute>;
  '/overview': z.output<typeof OverviewReply>;
  '/rules': Page<typeof RuleItem>;
  '/scorers': Page<typeof ScorerItem>;
  '/scores': Page<typeof ScoreItem>;
  '/scores/{scoreId}': z.output<typeof ScoreDetail>;
  '/series': z.output<typeof SeriesReply>;
  '/session': z.output<typeof SignIn>;
  '/sessions': Page<typeof SessionItem>;
  '/sessions/{sessionId}': z.output<typeof SessionDetail>;
  '/status': z.output<typeof Status>;
  '/traces': Page<typeof TraceItem>;
  '/traces/facets': Facets;
  '/traces/{traceId}': z.output<typeof TraceDetail>;
  '/traces/{traceId}/spans/{spanId}': z.output<typeof SpanItem>;
}

export type ReadPath = keyof Replies;

/** Item of a list. */
export type Item<Path extends ReadPath> = Replies[Path] extends { readonly items: readonly (infer One)[] }
  ? One
  : never;

/** Routes to which the dashboard writes, by method and path: their bodies and their replies. */
export interface Writes {
  'POST /alerts/{id}/ack': Write<undefined>;
  'POST /alerts/{id}/notes': Write<{ readonly text: string }>;
  'POST /config/apply': Write<z.input<typeof Changes>, z.output<typeof Applied>>;
  'POST /issues/{id}/resolve': Write<{ readonly version?: string }, Issue>;
  'POST /issues/{id}/reopen': Write<undefined, Issue>;
  'POST /issues/{id}/ignore': Write<undefined, Issue>;
  'POST /issues/{id}/merge': Write<{ readonly into: string }, Issue>;
  'POST /issues/{id}/split': Write<{ readonly traceIds: readonly string[] }, Issue>;
  'POST /mutes': Write<{ readonly subject: string; readonly for: string; readonly reason?: string }>;
  'DELETE /mutes': Write<undefined>;
  'POST /backfills/{id}/pause': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills/{id}/resume': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills/{id}/cancel': Write<undefined, z.output<typeof Backfill>>;
  'POST /backfills': Write<z.input<typeof NewBackfill>, z.output<typeof Backfill>>;
  'POST /preview': Write<z.input<typeof NewPreview>, z.output<typeof Preview>>;
  'POST /session': Write<{ readonly token: string }>;
  'DELETE /session': Write<undefined>;
  'POST /traces/sample': Write<undefined, { readonly traceId: string }>;
  'POST /score': Write<
    z.input<typeof ScoreNow>,
    { readonly scores: z.output<typeof ScoreItem>[]; readonly decisions: z.output<typeof DecisionItem>[] }
  >;
  'POST /labels': Write<z.input<typeof NewLabel>, z.output<typeof StoredLabel>>;
}

interface Write<Body, Reply = unknown> {
  readonly body: Body;
  readonly reply: Reply;
}

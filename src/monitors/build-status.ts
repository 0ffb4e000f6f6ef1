import { type GroupWatch, findIncident, type RuleWatch, type SeriesWatch } from './group-watch.ts';
import type { MonitorStatus } from './monitor-status.ts';

/** Builds the state of a rule on a series, in numbers and words. */
export function buildStatus({ group }: GroupWatch, rule: RuleWatch, watch: SeriesWatch): MonitorStatus {
  const { state, series, mean } = watch;
  const condition = rule.detector.condition(state.detector);
  const { baseline, limit, evidenceLog10 } = rule.detector.gauges(state.detector);
  return {
    ruleKey: rule.key,
    group: group.name,
    alert: rule.rule.alert,
    detector: rule.rule.detection.kind,
    series,
    phase: state.phase,
    sinceMs: state.sinceMs,
    incidentId: findIncident(rule, watch),
    finding: state.finding,
    lacks: condition.kind === 'learning' ? condition.why : null,
    mean,
    baseline,
    limit,
    evidenceLog10,
    scores: state.scores,
    bucketMs: state.lastBucketMs ?? 0,
  };
}

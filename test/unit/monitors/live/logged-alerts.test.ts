import { expect, it } from 'vitest';
import { loggedAlerts } from '../../../../src/monitors/live/start-monitors.ts';
import type { MonitorStore } from '../../../../src/monitors/monitor-store.ts';
import { createLog } from '../../../../src/telemetry/log.ts';
import { anAlert, resolvedEvent } from '../../../support/builders/an-alert.ts';

it('logs the beginning and the end of an incident once they are written', async () => {
  const lines: string[] = [];
  const written: string[] = [];
  const log = createLog('info', { destination: { write: (line) => void lines.push(line) } });
  const alerts: MonitorStore['alerts'] = {
    write: async (events) => void written.push(...events.map(({ status }) => status)),
    known: async () => new Set(),
    open: async () => [],
    incident: async () => [],
    acknowledged: async () => new Map(),
  };

  await loggedAlerts(alerts, log).write([anAlert(), resolvedEvent(anAlert())]);

  expect(written).toEqual(['firing', 'resolved']);
  expect(lines[0]).toMatch(
    /WARN {2}alert fires alert=ScoreDrift scorer=faithfulness .*before=0\.91 after=0\.52 count=69/,
  );
  expect(lines[1]).toMatch(/INFO {2}alert ended alert=ScoreDrift .*minutes=300/);
});

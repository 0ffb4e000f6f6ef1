import type { Mute } from '../view-models/incidents.ts';
import { Text, Time } from './text.tsx';

/** Person, end and reason of a mute, in a line about what it mutes. */
export function MuteNote({ mute: { by, until, reason } }: { readonly mute: Mute }) {
  return (
    <>
      muted
      {by && (
        <>
          {' '}
          by <Text of={by} />
        </>
      )}{' '}
      until <Time at={until} />
      {reason !== '' && (
        <>
          {' '}
          (<Text of={reason} />)
        </>
      )}
    </>
  );
}

import { usageError } from '../../errors.ts';
import { createUpstreamAnswerer } from '../../gateway/upstream.ts';
import { checkRecordingFlags, openReplaying } from '../../cli/run/recordings.ts';
import { replayedModels } from './models.ts';
import { openUpstream, type Source, type SourceFlags, type SourcePlace } from './upstream.ts';

/**
 * Opens `--upstream` or `--replay`; undefined: the offline models answer. Throws GatewayError usage or auth, before
 * anything listens.
 */
export async function openSource(flags: SourceFlags, place: SourcePlace): Promise<Source | undefined> {
  checkRecordingFlags(flags);
  if (flags.upstream !== undefined && flags.replay !== undefined) {
    throw usageError('--upstream and --replay exclude each other', 'a replay asks nobody: leave --upstream out');
  }
  if (flags.record !== undefined && flags.upstream === undefined) {
    throw usageError('serve --record keeps what an upstream gateway answers', 'name its profile: --upstream <profile>');
  }
  if (flags.replay !== undefined) return openReplaySource(flags.replay, flags, place);
  return flags.upstream === undefined ? undefined : openUpstream(flags.upstream, flags, place);
}

async function openReplaySource(replay: string, flags: SourceFlags, { context }: SourcePlace): Promise<Source> {
  const exchanges = await openReplaying(replay, flags, context);
  const base = new URL('http://127.0.0.1');
  const answer = createUpstreamAnswerer({
    exchange: exchanges.at(base),
    address: (_call, path) => ({ url: new URL(path, base), headers: {} }),
    usageStatus: 404,
    wholeBodies: true,
  });
  return {
    answer,
    headerNames: {},
    models: await replayedModels(replay, context),
    name: `replays ${replay}`,
    close: exchanges.close,
  };
}

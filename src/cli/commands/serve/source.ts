import { formatNames, serviceNames, services, shellWord, usageError } from '../../../library/index.ts';
import {
  createReplayHandler,
  createTranslator,
  type Handler,
  type ServedHeaderNames,
  type ServiceFormats,
} from '../../../gateway/index.ts';
import { replayedFolder } from '../../flags/shared.ts';
import type { FlagValues } from '../../flags/flag.ts';
import type { serveFlags } from '../../flags/serve.ts';
import { checkRecordingFlags } from '../../run/settings.ts';
import { openReplaying } from '../../run/recordings.ts';
import type { Context } from '../../context.ts';
import { replayedVariables } from './served-command.ts';
import { findServiceFormats } from './service-formats.ts';
import { openUpstream } from './upstream.ts';

/** Flags of `serve`, as they were typed. */
export type ServeFlags = FlagValues<typeof serveFlags>;

/** The handler that answers requests, and the facts of it for the served command. */
export interface AnswerSource {
  handler: Handler;
  /** The names of headers at the upstream gateway. */
  headerNames: ServedHeaderNames;
  /** Environment variables of the models that are served, and of their service if it is not a gateway. */
  variables: Record<string, string>;
  /** The name for people: `profile work, https://host`. */
  name: string;
  /** Whether an answer costs nothing, or is paid for here. */
  isPaid: boolean;
  close(): Promise<void>;
}

/** The surroundings of a source, beside the flags. */
export interface SourcePlace {
  context: Context;
  /** The key that callers show here: it never goes on, nor into a recording. */
  localKey: string;
  /** Names of headers that callers show to this gateway. */
  served: ServedHeaderNames;
}

/**
 * Opens `--upstream` or `--replay`; undefined: the offline models answer. Throws GatewayError usage or auth, before
 * anything listens.
 */
export async function openSource(flags: ServeFlags, place: SourcePlace): Promise<AnswerSource | undefined> {
  checkRecordingFlags(flags);
  const replayed = replayedFolder(flags);
  if (flags.upstream !== undefined && replayed !== undefined) {
    throw usageError(
      '--upstream and --replay exclude each other without --record',
      `a replay sends nothing: leave --upstream out; for a cache add --record ${shellWord(replayed)}`,
    );
  }
  if (flags.record !== undefined && flags.upstream === undefined) {
    throw usageError('serve --record keeps what an upstream gateway answers', 'name its profile: --upstream <profile>');
  }
  const costFlag = (['budget', 'prices', 'tag'] as const).find((name) => flags[name] !== undefined);
  if (costFlag !== undefined && flags.upstream === undefined) {
    throw usageError(
      `serve --${costFlag} limits what --upstream passes on: local answers cost nothing`,
      `leave --${costFlag} out, or name a profile: --upstream <profile>`,
    );
  }
  if (replayed !== undefined) return openReplaySource(replayed, place);
  if (flags.upstream === undefined) return undefined;
  return openUpstream(flags.upstream, flags, place);
}

/** The service whose replies were recorded, by the variables that are kept with them. */
async function findRecordedService({
  GATEWAY_SERVICE: named,
  GATEWAY_FORMAT: format,
}: AnswerSource['variables']): Promise<ServiceFormats | undefined> {
  const service = serviceNames.find((name) => name === named) ?? 'gateway';
  const ownFormat = formatNames.find((name) => name === format);
  const usual = services[service].formats.text ?? 'content';
  return findServiceFormats({ service, ownFormat, format: ownFormat ?? usual, baseUrl: undefined });
}

async function openReplaySource(replay: string, { context }: SourcePlace): Promise<AnswerSource> {
  const pass = createReplayHandler(await openReplaying(replay, context));
  const variables = await replayedVariables(replay, context);
  const formats = await findRecordedService(variables);
  return {
    handler: formats === undefined ? pass : createTranslator(pass, formats),
    headerNames: {},
    variables,
    name: `replays ${replay}`,
    isPaid: true,
    close: async () => undefined,
  };
}

import { type ConnectionFlags, readSettings } from './settings.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { outputFlags } from '../flags/shared.ts';
import type { AnswerFlags } from '../output/answer-file.ts';
import type { KeptModel, Settings } from '../settings/types.ts';
import {
  type Deadline,
  deadlineOnce,
  formatFacts,
  services,
  usageError,
  type Use,
  within,
} from '../../library/index.ts';
import type { AnswerContext } from '../context.ts';
import { withPromptYaml } from '../request/prompt-flags.ts';
import {
  type RequestFlags,
  type Building,
  type BuiltRequest,
  buildRequest,
  refuseLackingFlags,
} from '../request/build-request.ts';
import { inputUrls } from '../input/input-files.ts';
import { openUrlFetcher } from './fetch-urls.ts';

/** The flags that every command has which asks a model, as they were typed. */
export type CommonFlags = ConnectionFlags &
  FlagValues<typeof outputFlags> &
  AnswerFlags & { jsonl?: true; promptFile?: string };

/** The checked flags of a command, and the settings from flags, environment and profile. */
export interface PreparedCommand<Flags extends CommonFlags = CommonFlags> {
  context: AnswerContext;
  use: Use;
  flags: Flags;
  settings: Settings;
  /** The time of the command begins when the deadline is first used. */
  deadline: () => Deadline;
}

/** The first part of a command that asks a model, or goes on with `kept`. Throws GatewayError usage or auth. */
export async function prepareCommand<Flags extends CommonFlags>(
  words: readonly string[],
  typed: Flags,
  use: Use,
  { context, kept }: { context: AnswerContext; kept?: KeptModel | undefined },
): Promise<PreparedCommand<Flags>> {
  const flags = await withPromptYaml(words, typed, context);
  const found = await readSettings(flags, context, use, kept);
  const settings = found.lane === 'batch' ? withoutBatchLane(found, context.command) : found;
  return { context, use, flags, settings, deadline: deadlineOnce(settings.timeoutMs, context.signal) };
}

/** Fetches the inputs that are URLs, and builds the request, within the time of the command. Throws GatewayError. */
export async function prepareRequest(
  words: readonly string[],
  flags: RequestFlags & ConnectionFlags,
  building: Building & Pick<PreparedCommand, 'context' | 'settings' | 'deadline'>,
): Promise<BuiltRequest> {
  const deadline = building.deadline();
  const urls = inputUrls(flags);
  if (urls.length === 0) return within(deadline, buildRequest(words, flags, building));
  // Missing flags are refused before anything is fetched.
  refuseLackingFlags(flags, building);
  const { context, settings } = building;
  const fetching = openUrlFetcher(flags, context).fetchAll(urls, { settings, deadline, atEnd: context.atEnd });
  const fetched = await within(deadline, fetching);
  return within(deadline, buildRequest(words, flags, { ...building, fetched }));
}

/** The lane `batch` of a profile is for batches. Throws GatewayError usage if it was typed. */
function withoutBatchLane(settings: Settings, command: string): Settings {
  const { format, service, origins } = settings;
  if (origins.lane.kind !== 'flag') return { ...settings, lane: 'live' };
  const { lacksBatches, title } = services[service];
  if (lacksBatches) throw usageError(`no batch API of ${title} is known`, 'use --lane live');
  const flex = formatFacts[format].tierField === undefined ? '' : 'for half price here: --lane flex; ';
  throw usageError(
    `--lane batch is for many requests, not for ${command}`,
    `${flex}for many: gateway-cli batch jobs.jsonl -o out --lane batch`,
  );
}

import { type ConnectionFlags, readSettings } from './settings.ts';
import type { FlagValues } from '../flags/flag.ts';
import type { outputFlags } from '../flags/shared.ts';
import { type AnswerFlags, prepareAnswerFile } from '../output/answer-file.ts';
import type { KeptModel, Use, Settings } from '../../settings/types.ts';
import type { AnswerContext } from '../context.ts';
import { withPromptYaml } from '../request/prompt-flags.ts';
import { deadlineOnce, within } from '../../client/index.ts';
import {
  type RequestFlags,
  type Building,
  type BuiltRequest,
  buildRequest,
  refuseLackingFlags,
} from '../request/build-request.ts';
import { inputUrls } from '../input/input-files.ts';
import { byDefault } from '../../settings/sources.ts';
import { services } from '../../vendors/services.ts';
import { usageError } from '../../errors.ts';
import { formatFacts } from '../../formats/format.ts';
import type { ImagePlan } from '../output/save-images.ts';
import { openUrlFetcher } from './fetch-urls.ts';

/** Flags that every command has that asks a model, as they were typed. */
export type CommonFlags = ConnectionFlags &
  FlagValues<typeof outputFlags> &
  AnswerFlags & { jsonl?: true; promptFile?: string };

/** The checked flags of a command, and the settings from flags, environment and profile. */
export type PreparedCommand = Awaited<ReturnType<typeof prepareCommand<CommonFlags>>>;

/** The first part of a command that asks a model, or goes on with `kept`. Throws GatewayError usage or auth. */
export async function prepareCommand<Flags extends CommonFlags>(
  words: readonly string[],
  typed: Flags,
  use: Use,
  context: AnswerContext,
  kept?: KeptModel,
) {
  const flags = await withPromptYaml(words, typed, context);
  // An image has one place; of a text, `--code` and `-o` may say where it goes.
  const isText = use === 'text' || use === 'chat';
  checkStdoutOwner(isText ? { ...flags, output: flags.code && flags.output } : flags, context.root.json === true);
  if (flags.raw) checkRaw(flags);
  if (flags.field !== undefined) context.report.selected = { field: flags.field };
  const hasOwnPlace = isText && (flags.code || flags.output !== undefined);
  const writeFile = hasOwnPlace ? await prepareAnswerFile(flags, context) : undefined;
  if (flags.tag) context.report.tags = Object.fromEntries(flags.tag);
  const found = await readSettings(flags, context, use, kept);
  const settings = found.lane.value === 'batch' ? withoutBatchLane(found, context.command) : found;
  // The time of the command begins when the deadline is first used.
  const deadline = deadlineOnce(settings.timeoutMs.value, context.signal);
  return { context, use, flags, settings, deadline, writeFile };
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
  // Before anything is fetched.
  refuseLackingFlags(flags, building);
  const { context, settings } = building;
  const fetching = openUrlFetcher(flags, context).fetchAll(urls, { settings, deadline, atEnd: context.atEnd });
  const fetched = await within(deadline, fetching);
  return within(deadline, buildRequest(words, flags, { ...building, fetched }));
}

/** The lane `batch` of a profile is for batches. Throws GatewayError usage if it was typed. */
function withoutBatchLane(settings: Settings, command: string): Settings {
  const { lane, format, service } = settings;
  if (lane.origin.kind !== 'flag') return { ...settings, lane: byDefault('live') };
  const { lacksBatches, title } = services[service.value];
  if (lacksBatches) throw usageError(`no batch API of ${title} is known`, 'use --lane live');
  const flex = formatFacts[format.value].tierField === undefined ? '' : 'for half price here: --lane flex; ';
  throw usageError(
    `--lane batch is for many requests, not for ${command}`,
    `${flex}for many: gateway-cli batch jobs.jsonl -o out --lane batch`,
  );
}

/** Throws GatewayError usage if two flags print to stdout, other than `--dry-run --json`. */
function checkStdoutOwner(flags: CommonFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Throws GatewayError usage for a flag that `--raw` would ignore. */
function checkRaw(flags: CommonFlags & Pick<ImagePlan, 'count' | 'sidecar' | 'preview' | 'strict'>): void {
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}

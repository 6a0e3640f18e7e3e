import { resolve } from 'node:path';
import {
  createEmptyStore,
  describeWriteError,
  type ExchangeRecorder,
  type ExchangeRecorderOptions,
  type Fetch,
  findFormatByPath,
  GatewayError,
  type HttpReply,
  openCache,
  openExchangeRecorder,
  openReplay,
  readReply,
  recordedModels,
  shellWord,
  usageError,
  type Use,
} from '../../library/index.ts';
import { listVariables } from '../settings/sources.ts';
import { createMasker, type Credential, isUnmistakable } from '../settings/redact.ts';
import type { Context } from '../context.ts';
import { prefixUsageError } from '../flags/flag.ts';
import { isCache, type RecordingFlags } from '../flags/shared.ts';

/** The most models of the recordings that the error names. */
const namedModels = 5;

/** The error for a replay without a model. Throws GatewayError usage if the folder has no recording. */
export async function noModelToReplay(replay: string, { io }: Context, use: Use): Promise<GatewayError> {
  const models = await recordedModels(resolve(io.cwd, replay)).catch(prefixUsageError('--replay '));
  const [first] = models;
  const more = models.length > namedModels ? ` and ${models.length - namedModels} more` : '';
  const listed = first === undefined ? '' : `the recordings hold ${models.slice(0, namedModels).join(', ')}${more}; `;
  return usageError(
    `--replay '${replay}' needs the model too: it is part of the recorded request`,
    `${listed}give --model ${first === undefined ? '<model>' : shellWord(first)} or set ${listVariables('model', use).at(-1)}`,
  );
}

/** Answers from recordings; nothing is sent. Throws GatewayError usage if there are none. */
export function openReplaying(replay: string, { io }: Context): Promise<Fetch> {
  return openReplay(resolve(io.cwd, replay)).catch(prefixUsageError('--replay '));
}

/**
 * Records exchanges, without credentials, in the folder of `--record`, and with `--replay` answers from there first. Throws
 * GatewayError usage.
 */
export async function openRecording(
  flags: RecordingFlags & { record: string },
  { context, credentials }: { context: Context; credentials: readonly Credential[] },
): Promise<Pick<ExchangeRecorder, 'record' | 'close'>> {
  const { record, maxAge } = flags;
  const { io, ui } = context;
  await warnOfPlainCredentials(credentials, context);
  const options: ExchangeRecorderOptions = {
    folder: resolve(io.cwd, record),
    mask: createMasker(credentials.map(({ secret }) => secret)),
    now: io.now,
    onFailure: (error) => void ui.warn(`--record '${record}': a reply was not kept: ${describeWriteError(error)}`),
  };
  const opening = isCache(flags)
    ? openCache({ ...options, maxAgeMs: maxAge, isComplete: isCompleteReply })
    : openExchangeRecorder(options);
  return opening.catch(prefixUsageError('--record '));
}

/** Whether the client can read a reply to its end; for paths that belong to no format, whether the reply has an end. */
async function isCompleteReply(path: string, reply: HttpReply): Promise<boolean> {
  try {
    const format = findFormatByPath(path);
    if (format !== undefined) {
      const store = createEmptyStore();
      const { error } = await readReply(reply, { format, model: '', store });
      return error === undefined;
    }
    for await (const chunk of reply.body) void chunk;
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

/** A credential that can occur in a reply by chance is not masked, so its user gets a warning. */
async function warnOfPlainCredentials(credentials: readonly Credential[], { ui }: Context): Promise<void> {
  const plain = credentials.filter(({ secret }) => !isUnmistakable(secret.reveal().trim())).map(({ name }) => name);
  if (plain.length === 0) return;
  const short = plain.length === 1 ? 'is too short or too plain' : 'are too short or too plain';
  await ui.warn(`--record: ${plain.join(', ')} ${short} to be masked: a reply that repeats it is recorded as it came`);
}

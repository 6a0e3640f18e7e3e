import { resolve } from 'node:path';
import type { Exchanges } from '../../client/connection.ts';
import { createEmptyStore } from '../../images/store.ts';
import { writeReason } from '../../files/file-reason.ts';
import { outcomeOf, readReply } from '../../client/perform.ts';
import { GatewayError, usageError } from '../../errors.ts';
import { openCache } from '../../recordings/cache.ts';
import { recordedModels } from '../../recordings/models.ts';
import { openRecorder } from '../../recordings/recorder.ts';
import type { RecorderOptions } from '../../recordings/recording-writer.ts';
import { openReplay } from '../../recordings/replay.ts';
import { variablesOf } from '../../settings/table.ts';
import { createMasker, isUnmistakable } from '../../settings/redact.ts';
import type { Use } from '../../settings/types.ts';
import type { HttpReply, Transport } from '../../transport/types.ts';
import type { Context } from '../context.ts';
import { behind } from '../flags/flag.ts';
import { isCache, type RecordingFlags } from '../flags/shared.ts';
import { shellWord } from '../../shell-word.ts';
import type { Credential } from './connection.ts';

/** So many models of the recordings are named at most. */
const namedModels = 5;

/** A replay without a model: which ones the folder holds. Throws GatewayError usage where it holds no recording. */
export async function noModelToReplay(replay: string, { io }: Context, use: Use): Promise<GatewayError> {
  const models = await recordedModels(resolve(io.cwd, replay)).catch(behind('--replay '));
  const [first] = models;
  const more = models.length > namedModels ? ` and ${models.length - namedModels} more` : '';
  const held = first === undefined ? '' : `the recordings hold ${models.slice(0, namedModels).join(', ')}${more}; `;
  return usageError(
    `--replay '${replay}' needs the model too: it is part of the recorded request`,
    `${held}give --model ${first === undefined ? '<model>' : shellWord(first)} or set ${variablesOf('model', use).at(-1)}`,
  );
}

/** Answers from recordings; nothing is sent. Throws GatewayError usage when there are none. */
export async function openReplaying(replay: string, { io }: Context): Promise<Exchanges> {
  const at = await openReplay(resolve(io.cwd, replay)).catch(behind('--replay '));
  return { at, close: async () => undefined };
}

/**
 * What is sent, kept in the folder that `--record` names, and answered from there with `--replay` too; the credentials stay
 * out of it. Throws GatewayError usage.
 */
export async function openRecording(
  transport: Transport,
  flags: RecordingFlags & { record: string },
  { context, credentials }: { context: Context; credentials: readonly Credential[] },
): Promise<Exchanges> {
  const { record, maxAge } = flags;
  const { io, ui } = context;
  await warnOfPlain(credentials, context);
  const options: RecorderOptions = {
    folder: resolve(io.cwd, record),
    mask: createMasker(credentials.map(({ secret }) => secret)),
    elapsed: io.elapsed,
    now: io.now,
    onFailure: (error) => void ui.warn(`--record '${record}': a reply was not kept: ${writeReason(error)}`),
  };
  const opening = isCache(flags)
    ? openCache({ ...options, maxAgeMs: maxAge, isWhole: isWholeReply })
    : openRecorder(options);
  const recorder = await opening.catch(behind('--record '));
  return {
    at: (base) => recorder.record(transport.exchange, base),
    async close() {
      await recorder.close();
      await transport.close();
    },
  };
}

/** Whether the client can read a reply to its end; of other paths than those of the formats, whether it has one. */
export async function isWholeReply(path: string, reply: HttpReply): Promise<boolean> {
  const reading = { store: createEmptyStore(), model: '', joined: true } as const;
  try {
    const format = formatAt(path);
    if (format !== undefined) return (await outcomeOf(readReply(reply, reading, format))).error === undefined;
    for await (const chunk of reply.body) void chunk;
    return true;
  } catch (error) {
    if (error instanceof GatewayError) return false;
    throw error;
  }
}

function formatAt(path: string): 'content' | 'messages' | undefined {
  if (/\/models\/[^/]+:(?:streamG|g)enerateContent/.test(path)) return 'content';
  return /^\/v1\/messages(?:\?|$)/.test(path) ? 'messages' : undefined;
}

/** A reply is never altered for a word that it may hold by chance; whoever uses such a word as a credential shall know. */
async function warnOfPlain(credentials: readonly Credential[], { ui }: Context): Promise<void> {
  const plain = credentials.filter(({ secret }) => !isUnmistakable(secret.reveal().trim())).map(({ name }) => name);
  if (plain.length === 0) return;
  const short = plain.length === 1 ? 'is too short or too plain' : 'are too short or too plain';
  await ui.warn(`--record: ${plain.join(', ')} ${short} to be masked: a reply that repeats it is recorded as it came`);
}

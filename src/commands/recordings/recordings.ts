import { basename, resolve } from 'node:path';
import type { Command } from 'commander';
import { isoTime, localTime } from '../../clock.ts';
import { usageError } from '../../errors.ts';
import type { JsonValue } from '../../json.ts';
import { type RecordedReply, readRecordedReply } from '../../recordings/format.ts';
import { type ListedRecording, listRecordings } from '../../recordings/recording-index.ts';
import { shortenedJson } from '../../recordings/request-key.ts';
import { alignColumns } from '../../terminal/break-lines.ts';
import { escapeLine, writeEscaped } from '../../terminal/escape.ts';
import type { Action } from '../../cli/context.ts';
import { addFlags, type FlagTable, type FlagValues, setExamples } from '../../cli/flags/flag.ts';
import { formatSize } from '../../cli/input/prompt.ts';
import { removeFile } from '../../files/temp-file.ts';
import { parseAge } from '../../settings/values.ts';
import { checkRecording } from '../../recordings/replay.ts';
import { isCompleteReply } from '../../cli/run/recordings.ts';

/** A recording with its reply. */
interface Read extends ListedRecording {
  reply: RecordedReply;
}

/** `recordings list <dir>`: a line for each, the newest first. */
export function recordingsListCommand(command: Command): Action {
  command.argument('<dir>', 'a folder that --record wrote').usage('<dir> [flags]');
  setExamples(command, [
    'gateway-cli recordings list recordings',
    "gateway-cli recordings list recordings --json | jq -r '.recordings[] | select(.status != 200).id'",
  ]);
  return async ({ io, root }, [dir = '']) => {
    const found: Read[] = [];
    for (const recording of await listRecordings(resolve(io.cwd, dir)))
      found.push({ ...recording, reply: await readRecordedReply(recording.path) });
    if (root.json) {
      return { document: { schema: 'gateway-cli/recordings@1', recordings: found.map(toRecordingDocument) } };
    }
    const rows = found.map(({ at, reply, bytes, request: { method, path }, model, id }) => [
      localTime(at),
      describeRecordedReply(reply),
      formatSize(bytes),
      ...[`${method} ${path}`, model, id].map(escapeLine),
    ]);
    for (const line of alignColumns(rows)) await io.stdout.write(`${line}\n`);
  };
}

/** `200`, `200 cut`, `no reply`. */
function describeRecordedReply({ status, ended }: RecordedReply): string {
  if (status === undefined) return 'no reply';
  return ended === 'end' ? String(status) : `${status} ${ended ?? 'cut'}`;
}

/** The members of a recording in JSON documents. */
function toRecordingDocument({ id, path, at, request, model, bytes, reply }: Read): object {
  return {
    id,
    file: basename(path),
    recorded: isoTime(at),
    method: request.method,
    path: request.path,
    model: model || undefined,
    status: reply.status,
    ended: reply.ended,
    bytes,
  };
}

/** `recordings show <dir> <id>`: the request and the reply, images by their size and digest. */
export function recordingsShowCommand(command: Command): Action {
  command
    .argument('<dir>', 'a folder that --record wrote')
    .argument('<id>', 'an id of the list, or a part that no other has')
    .usage('<dir> <id> [flags]');
  setExamples(command, [
    'gateway-cli recordings show recordings generateContent-some-model-2f61c0aa94d3e1b7-1',
    'gateway-cli recordings show recordings 2f61c0 --json | jq .reply.body',
  ]);
  return async ({ io, root }, [dir = '', id = '']) => {
    const recording = findRecording(id, dir, await listRecordings(resolve(io.cwd, dir)));
    const { request, path, at } = recording;
    const reply = await readRecordedReply(path);
    const { status, headers } = reply;
    const body = toBodyValue(reply);
    if (root.json) {
      const document = {
        schema: 'gateway-cli/recording@1',
        ...toRecordingDocument({ ...recording, reply }),
        request,
        reply: status === undefined ? undefined : { status, headers, body },
      };
      return { document };
    }
    const lines = [
      `recorded ${localTime(at)}: ${describeRecordedReply(reply)}`,
      '',
      `${request.method} ${request.path}`,
      bodyText(request.body),
      ...(status === undefined ? [] : ['', `HTTP ${status}`]),
      ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
      ...(status === undefined ? [] : ['', bodyText(body)]),
    ];
    const text = `${lines.join('\n').trimEnd()}\n`;
    return writeEscaped(io.stdout, text);
  };
}

/** Finds a recording by its id, its file's name, or a unique part of it. Throws GatewayError usage. */
function findRecording(typed: string, dir: string, all: readonly ListedRecording[]): ListedRecording {
  const id = basename(typed, '.jsonl');
  const exact = all.find((recording) => recording.id === id);
  const fitting = exact === undefined ? all.filter((recording) => recording.id.includes(id)) : [exact];
  const [only, another] = fitting;
  if (only !== undefined && another === undefined) return only;
  const named = fitting.slice(0, 5).map((recording) => recording.id);
  throw only === undefined
    ? usageError(`there is no recording ${JSON.stringify(typed)}`, `see: gateway-cli recordings list ${dir}`)
    : usageError(`several recordings have ${JSON.stringify(typed)} in their names`, `name one: ${named.join(', ')}`);
}

function bodyText(body: JsonValue): string {
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2);
}

/** The value of a JSON body, else its text, with long Base64 as its size and digest. */
function toBodyValue({ chunks }: RecordedReply): JsonValue {
  const text = Buffer.concat(chunks).toString('utf8');
  try {
    return shortenedJson(JSON.parse(text) as JsonValue);
  } catch {
    return text.replaceAll(/[A-Za-z0-9+/]{1024,}={0,2}/g, (base64) => String(shortenedJson(base64)));
  }
}

const pruneFlags = {
  maxAge: { flags: '--max-age <time>', text: 'remove what is older, such as 30d or 12h', parse: parseAge },
  failed: { flags: '--failed', text: 'remove what a cache does not answer with: errors, and replies that were cut' },
  dryRun: { flags: '--dry-run', text: 'print what would be removed, and remove nothing' },
} satisfies FlagTable;

/** `recordings prune <dir>`: removes recordings, but no other file. */
export function recordingsPruneCommand(command: Command): Action {
  command.argument('<dir>', 'a folder that --record wrote').usage('<dir> --max-age <time> | --failed [flags]');
  setExamples(command, [
    'gateway-cli recordings prune recordings --max-age 30d --dry-run',
    'gateway-cli recordings prune recordings --failed',
  ]);
  addFlags(command, 'Flags', pruneFlags);
  return async ({ io, root, ui }, [dir = ''], flags) => {
    const { maxAge = Infinity, failed = false, dryRun = false } = flags as FlagValues<typeof pruneFlags>;
    if (maxAge === Infinity && !failed)
      throw usageError('recordings prune needs to know what to remove', 'for example: --max-age 30d, or --failed');
    const all = await listRecordings(resolve(io.cwd, dir));
    const chosen: ListedRecording[] = [];
    for (const recording of all) {
      const isOld = io.now() - recording.at > maxAge;
      if (isOld || (failed && (await checkRecording(recording.path, isCompleteReply)) === undefined))
        chosen.push(recording);
    }
    for (const { path, id } of chosen) {
      if (!dryRun) await removeFile(path);
      if (!root.json) await io.stdout.write(`${escapeLine(id)}\n`);
    }
    const bytes = chosen.reduce((sum, recording) => sum + recording.bytes, 0);
    if (root.json) {
      const removed = chosen.map(({ id }) => id);
      return { document: { schema: 'gateway-cli/recordings@1', removed, bytes, dryRun } };
    }
    const done = dryRun ? 'would remove' : 'removed';
    return ui.note(`${done} ${chosen.length} of ${all.length} recordings, ${formatSize(bytes)}`);
  };
}

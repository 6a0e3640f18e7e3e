import { resolve } from 'node:path';
import type { Command } from 'commander';
import { usageError } from '../../errors.ts';
import { removeFile } from '../../files/temp-file.ts';
import { judgeRecording } from '../../recordings/cache.ts';
import { type SurveyedRecording, surveyRecordings } from '../../recordings/survey.ts';
import { escapeLine } from '../../terminal/escape.ts';
import type { Action, Context } from '../../cli/context.ts';
import { addFlags, type FlagTable } from '../../cli/flags/flag.ts';
import { age } from '../../cli/flags/values.ts';
import { setExamples } from '../../cli/help/help.ts';
import { sizeOf } from '../../cli/input/prompt.ts';
import { isWholeReply } from '../../cli/run/recordings.ts';

const pruneFlags = {
  maxAge: { flags: '--max-age <time>', text: 'remove what is older, such as 30d or 12h', parse: age },
  failed: { flags: '--failed', text: 'remove what a cache does not answer with: errors, and replies that were cut' },
  dryRun: { flags: '--dry-run', text: 'print what would be removed, and remove nothing' },
} satisfies FlagTable;

interface PruneFlags {
  maxAge?: number;
  failed?: true;
  dryRun?: true;
}

/** `recordings prune <dir>`: removes recordings, and never another file. */
export function recordingsPruneCommand(command: Command): Action {
  command.argument('<dir>', 'a folder that --record wrote').usage('<dir> --max-age <time> | --failed [flags]');
  setExamples(command, [
    'gateway-cli recordings prune recordings --max-age 30d --dry-run',
    'gateway-cli recordings prune recordings --failed',
  ]);
  addFlags(command, 'Flags', pruneFlags);
  return (context, [dir = ''], flags) => runPrune(dir, flags as PruneFlags, context);
}

async function runPrune(dir: string, flags: PruneFlags, { io, root, report, ui }: Context): Promise<void> {
  const { maxAge = Infinity, failed = false, dryRun = false } = flags;
  if (maxAge === Infinity && !failed)
    throw usageError('recordings prune needs to know what to remove', 'for example: --max-age 30d, or --failed');
  const all = await surveyRecordings(resolve(io.cwd, dir));
  const chosen: SurveyedRecording[] = [];
  for (const recording of all) {
    const isOld = io.now() - recording.at > maxAge;
    if (isOld || (failed && (await judgeRecording(recording.path, isWholeReply)) === undefined)) chosen.push(recording);
  }
  for (const { path, id } of chosen) {
    if (!dryRun) await removeFile(path);
    if (!root.json) await io.stdout.write(`${escapeLine(id)}\n`);
  }
  const bytes = chosen.reduce((sum, recording) => sum + recording.bytes, 0);
  if (root.json) {
    const removed = chosen.map(({ id }) => id);
    report.own = { schema: 'gateway-cli/recordings@1', removed, bytes, dryRun };
  } else {
    const done = dryRun ? 'would remove' : 'removed';
    await ui.note(`${done} ${chosen.length} of ${all.length} recordings, ${sizeOf(bytes)}`);
  }
}

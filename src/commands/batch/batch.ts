import type { Command } from 'commander';
import type { Action, Context } from '../../cli/context.ts';
import { runBatch } from './run.ts';
import type { BatchFlags } from './types.ts';
import { addFlags } from '../../cli/flags/flag.ts';
import { batchFlags } from '../../cli/flags/batch.ts';
import { connectionFlags } from '../../cli/flags/shared.ts';
import { setExamples, setNotes } from '../../cli/help/help.ts';

/** `batch [run] <jobs.jsonl|-> -o <dir>`: many requests, parallel, each paid for once. */
export function batchRunCommand(command: Command): Action {
  command.argument('[jobs...]', 'JSON Lines, one job a line; - is stdin').usage('<jobs.jsonl|-> -o <dir> [flags]');
  setExamples(command, [
    'gateway-cli batch jobs.jsonl -o out --concurrency 8',
    'gateway-cli batch jobs.jsonl -o out                 # again: goes on where it stopped',
    `gateway-cli batch --prompts prompts.txt --defaults '{"command":"image gen","aspect":"1:1"}' -o out`,
    'gateway-cli batch jobs.jsonl -o out-1 --shard 1/4   # on the first of four machines',
  ]);
  setNotes(command, [
    'A job: {"id": "7", "command": "image edit", "prompt": "…", "image": ["in/7.png"], "aspect": "1:1"}. Keys are the request flags of its command (text, image gen, image edit, chat) in camel case, lists as arrays; files are relative to the job file.',
    'Ctrl-C takes no further job and waits up to 10 s for those under way; again, it stops at once.',
  ]);
  addFlags(command, 'Flags', batchFlags);
  addFlags(command, 'Connection', connectionFlags);
  return async (context: Context, words, typed) => {
    const flags = typed as BatchFlags;
    // Nothing was said: the help, as of every group of commands; what is missing is told behind it.
    if (words.length === 0 && !flags.prompts && !flags.output) command.parent?.outputHelp({ error: true });
    await runBatch(words, flags, context);
  };
}

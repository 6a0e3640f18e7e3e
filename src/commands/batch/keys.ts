import type { KeyRule, KeyTable } from '../../batch/job-values.ts';
import type { JobCommand } from '../../batch/types.ts';
import { type FlagTable, parserOf } from '../../cli/flags/flag.ts';
import { chatFlags, contentFlags, editFlags, imageFlags, textFlags } from '../../cli/flags/format.ts';
import { bodyFlags, connectionFlags } from '../../cli/flags/shared.ts';

/** Flags whose file may stand in a job as JSON itself. */
const json = new Set(['tools', 'toolConfig', 'contents', 'messages', 'schema', 'body']);

const { model } = connectionFlags;
const { attach, responseMime, schema } = textFlags;
const { aspect, size } = imageFlags;
const pictures = { aspect, size, ...contentFlags, ...bodyFlags, model };

/** The keys that jobs of each command may have: the flags that shape a request, and no other. */
export const jobKeys: Readonly<Record<JobCommand, KeyTable>> = {
  text: keysOf({ attach, responseMime, schema, ...contentFlags, ...bodyFlags, model }),
  'image gen': keysOf(pictures),
  'image edit': keysOf({ ...editFlags, ...pictures }),
  chat: keysOf({
    image: chatFlags.image,
    attach: chatFlags.attach,
    schema: chatFlags.schema,
    toolChoice: chatFlags.toolChoice,
    metadata: chatFlags.metadata,
    messages: chatFlags.messages,
    stream: chatFlags.stream,
    ...bodyFlags,
    model,
  }),
};

function keysOf(flags: FlagTable): KeyTable {
  return Object.fromEntries(Object.entries(flags).map(([name, flag]) => [name, ruleOf(name, flag)]));
}

function ruleOf(name: string, flag: FlagTable[string]): KeyRule {
  if (json.has(name)) return { kind: 'json' };
  if (!flag.flags.includes('<')) return { kind: 'switch' };
  return { kind: 'word', parse: parserOf(flag), repeat: flag.repeat };
}

import type { JsonObject } from '../../json.ts';
import { listAt, objectAt, textAt } from '../fields/read.ts';
import { Problem } from '../problem.ts';

/** The first version that refuses what its models no longer take. */
const firstStrictVersion = '2026-10-21';

/** Fields that must keep their default, which is undefined where any value is refused. */
const samplingDefaults = { temperature: 1, top_p: 1, top_k: undefined };

const prefill = 'This model does not support assistant message prefill. The conversation must end with a user message.';

/** Refuses what a body may say under older versions only. The versions are dates. Throws Problem 400. */
export function checkVersionRules(body: JsonObject, version = ''): void {
  if (version < firstStrictVersion) return;
  for (const [name, usual] of Object.entries(samplingDefaults)) {
    if ((body[name] ?? usual) !== usual) throw new Problem(400, `\`${name}\` is deprecated for this model.`);
  }
  const choice = textAt(objectAt(body, 'tool_choice'), 'type');
  if (choice === 'any' || choice === 'tool') {
    throw new Problem(400, `tool_choice.type: '${choice}' forces tool use, which this model does not support`);
  }
  if (textAt(listAt(body, 'messages').at(-1), 'role') === 'assistant') throw new Problem(400, prefill);
}

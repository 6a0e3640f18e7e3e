import type { JsonValue } from '../../json.ts';
import { listAt, textAt, valueAt } from '../fields/read.ts';
import { badValue } from '../fields/violation.ts';

/** Rules between turns: the user begins, content is not empty, every tool call is answered in the next turn (wire.md 3). */
export function checkTurns(messages: readonly JsonValue[]): void {
  if (textAt(messages[0], 'role') !== 'user') throw badValue(['messages'], 'first message must use the "user" role');
  for (const [index, message] of messages.entries()) {
    checkContent(message, index, index === messages.length - 1);
    checkCalls(message, messages[index + 1], index);
    checkResults(message, messages[index - 1], index);
  }
}

function checkContent(message: JsonValue, index: number, last: boolean): void {
  const content = valueAt(message, 'content');
  const empty = content === '' || (Array.isArray(content) && content.length === 0);
  if (empty && !(last && textAt(message, 'role') === 'assistant')) {
    throw badValue(
      ['messages', index],
      'all messages must have non-empty content except for the optional final assistant message',
    );
  }
}

function checkCalls(message: JsonValue, next: JsonValue | undefined, index: number): void {
  const answered = idsOf(next, 'tool_result', 'tool_use_id');
  const open = idsOf(message, 'tool_use', 'id').filter((id) => !answered.includes(id));
  if (open.length === 0) return;
  throw badValue(
    ['messages', index],
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${open.join(', ')}`,
  );
}

function checkResults(message: JsonValue, before: JsonValue | undefined, index: number): void {
  const called = idsOf(before, 'tool_use', 'id');
  const lone = idsOf(message, 'tool_result', 'tool_use_id').find((id) => !called.includes(id));
  if (lone === undefined) return;
  throw badValue(['messages', index, 'content'], `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${lone}`);
}

function idsOf(message: JsonValue | undefined, type: string, field: string): string[] {
  return listAt(message, 'content').flatMap((block) =>
    textAt(block, 'type') === type ? (textAt(block, field) ?? []) : [],
  );
}

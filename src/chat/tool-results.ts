import type { JsonObject, JsonValue } from '../json.ts';
import type { BodyValue } from '../upload.ts';
import { callIds, type SessionMessage } from './message.ts';
import type { ToolOutcome } from './tool-run.ts';

/** A tool's answer as the wire wants it (wire.md 3). Empty content is left out: some gateways refuse it. */
export function toolResult(id: string, { content, isError }: ToolOutcome): JsonObject {
  return {
    type: 'tool_result',
    tool_use_id: id,
    ...(content !== '' && { content }),
    ...(isError && { is_error: true }),
  };
}

/**
 * The turn of the user after an answer whose calls nobody answered: the wire demands a result for each, so the model is
 * told that they were not run. Changes nothing where there are none.
 */
export function withOpenCalls(content: BodyValue, before: SessionMessage | undefined): BodyValue {
  const open = before?.role === 'assistant' ? callIds(before) : [];
  const missing = open.filter((id) => !answeredIn(content).includes(id));
  if (missing.length === 0) return content;
  const results = missing.map((id) => toolResult(id, { content: 'the call was not run', isError: true }));
  return [...results, ...(Array.isArray(content) ? content : [{ type: 'text', text: content }])];
}

function answeredIn(content: BodyValue): unknown[] {
  if (!Array.isArray(content)) return [];
  return content.map((block) => (block as { tool_use_id?: JsonValue } | null)?.tool_use_id);
}

import { type DecodedRequest, joinTurns } from '../../library/formats/decoded-request.ts';
import { getTurnBlocks, toList } from '../../library/formats/plain-request.ts';
import type { JsonValue } from '../../library/index.ts';
import { textAt } from '../fields/read.ts';
import type { TextTask } from './task.ts';

/** The fields of a task that each format has in a way of its own. */
type OwnFields = Pick<TextTask, 'model' | 'media' | 'tools' | 'choice' | 'json' | 'thinking'>;

/** The task of a request: its last turn of the user is the question, the earlier ones are the history. */
export function readTask(decoded: DecodedRequest, own: OwnFields): TextTask {
  const turns = joinTurns(decoded.turns).map((turn) => ({ role: turn.role, blocks: getTurnBlocks(turn) }));
  const last = turns.findLastIndex(({ role }) => role === 'user');
  const texts = turns.map(({ blocks }) => joinBlockTexts(blocks));
  const called = new Map(
    turns.flatMap(({ blocks }) =>
      blocks.flatMap((block) => (block['type'] === 'tool_use' ? [[block['id'], block]] : [])),
    ),
  );
  const results = (turns[last]?.blocks ?? []).filter(({ type }) => type === 'tool_result');
  return {
    ...own,
    prompt: texts[last] ?? '',
    system: decoded.system,
    earlier: texts.filter((text, index) => index < last && turns[index]?.role === 'user' && text !== ''),
    toolResults: results.map(({ tool_use_id: id = '', content = '' }) => ({
      name: textAt(called.get(id), 'name') ?? String(id),
      text: typeof content === 'string' ? content : joinBlockTexts(toList(content)),
    })),
    schema: decoded.schema,
    maxTokens: decoded.maxTokens,
    stop: decoded.stop ?? [],
    seed: decoded.seed,
  };
}

function joinBlockTexts(blocks: readonly JsonValue[]): string {
  const texts = blocks.flatMap((block) => (textAt(block, 'type') === 'text' ? (textAt(block, 'text') ?? []) : []));
  return texts.filter((text) => text !== '').join('\n');
}

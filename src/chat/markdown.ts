import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { blocksOf, lastSystem, type SessionMessage } from './message.ts';

/** A conversation as Markdown: a heading for each message, texts unchanged, calls and results as code, files by name and size. */
export function exportMarkdown(title: string, messages: readonly SessionMessage[]): string {
  const parts = messages.map((message, index) => {
    const { system } = message;
    const isNew = system !== undefined && system !== lastSystem(messages.slice(0, index));
    return [
      ...(isNew ? [`> System: ${system.trim().replaceAll(/\s+/g, ' ')}`] : []),
      `## ${authorOf(message)}`,
      ...blocksOf(message).map(markdownOf),
    ];
  });
  return `${[`# ${title}`, ...parts.flat()].filter((part) => part !== '').join('\n\n')}\n`;
}

function authorOf(message: SessionMessage): string {
  const { role, model } = message;
  if (role === 'assistant') return model === undefined ? 'Answer' : `Answer (${model})`;
  return blocksOf(message).every((block) => block['type'] === 'tool_result') ? 'Tools' : 'You';
}

function markdownOf(block: JsonObject): string {
  const { type } = block;
  if (type === 'text') return textIn(block['text']).trim();
  if (type === 'thinking' || type === 'redacted_thinking') return '';
  if (type === 'tool_use')
    return `Call of \`${textIn(block['name'])}\`:\n\n${fence(JSON.stringify(block['input'], null, 2), 'json')}`;
  if (type === 'tool_result')
    return `${block['is_error'] === true ? 'Error' : 'Result'}:\n\n${fence(resultText(block['content']), '')}`;
  if (type === 'image' || type === 'document') return `*${describeFile(block)}*`;
  return `*${textIn(type)}*`;
}

/** `image image/png, 1200 bytes`, `document notes.txt, 12 bytes` */
export function describeFile(block: JsonObject): string {
  const source = isObject(block['source']) ? block['source'] : {};
  const data = textIn(source['data']);
  const bytes = source['type'] === 'base64' ? Buffer.byteLength(data, 'base64') : Buffer.byteLength(data);
  const name = textIn(block['title']) || textIn(source['media_type']) || textIn(source['url']);
  return `${textIn(block['type'])} ${name}${bytes > 0 ? `, ${bytes} bytes` : ''}`;
}

function resultText(content: JsonValue | undefined): string {
  return blocksOf({ content: Array.isArray(content) ? content : textIn(content) })
    .map((block) => (block['type'] === 'text' ? textIn(block['text']) : textIn(block['type'])))
    .join('\n');
}

/** A code block whose fence is longer than any inside. */
function fence(text: string, language: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map((match) => match[0].length));
  const mark = '`'.repeat(longest + 1);
  return `${mark}${language}\n${text.trimEnd()}\n${mark}`;
}

function textIn(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

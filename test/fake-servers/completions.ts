/** A request of the completions format, as far as an answer depends on it. */
export interface Asked {
  model?: string;
  messages?: readonly { role: string }[];
  stream?: boolean;
  stream_options?: { include_usage?: boolean };
  tools?: readonly { function: { name: string } }[];
  response_format?: { type: string };
  modalities?: readonly string[];
  [name: string]: unknown;
}

/** The service that answers. */
export interface Answering {
  id: string;
  model: string;
  text: string;
  usage: object;
  /** Fields beside `choices`. */
  more?: object;
}

interface Call {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

interface Message {
  role: 'assistant';
  content: string | null;
  tool_calls?: readonly [Call];
  images?: readonly object[];
  [name: string]: unknown;
}

/** Whenever a fake server answers. */
export const created = 1_757_000_000;

/** A picture of one pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** What every fake server calls a tool with, and says where a schema is asked for. */
export const rome = '{"city":"Rome"}';

/** The body of a chat completion, whole or as events. A tool is called until its result is there. */
export function completionBody(asked: Asked, who: Answering, extra: object = {}): string | string[] {
  const message: Message = { ...messageOf(asked, who.text), ...extra };
  const finish = message.tool_calls ? 'tool_calls' : 'stop';
  if (asked.stream === true) return events(asked, who, { message, finish });
  const choices = [{ index: 0, message, logprobs: null, finish_reason: finish }];
  const { id, model, usage, more } = who;
  return JSON.stringify({ id, object: 'chat.completion', created, model, choices, usage, ...more }, null, 2);
}

function messageOf({ tools, messages = [], response_format, modalities }: Asked, text: string): Message {
  const tool = messages.at(-1)?.role === 'tool' ? undefined : tools?.[0];
  if (tool) {
    const call = {
      id: 'call_rome',
      type: 'function',
      function: { name: tool.function.name, arguments: rome },
    } as const;
    return { role: 'assistant', content: null, tool_calls: [call] };
  }
  const content = response_format === undefined ? text : rome;
  if (modalities?.includes('image') !== true) return { role: 'assistant', content };
  const image_url = { url: `data:image/png;base64,${pixel}` };
  return { role: 'assistant', content: '', images: [{ type: 'image_url', image_url }] };
}

/** docs: developers.openai.com/api/docs, chat completion chunks. */
function events(asked: Asked, who: Answering, { message, finish }: { message: Message; finish: string }): string[] {
  const withUsage = asked.stream_options?.include_usage === true;
  const { id, model, usage, more } = who;
  const head = { id, object: 'chat.completion.chunk', created, model, ...more };
  const chunk = (delta: object, finish_reason: string | null = null): string =>
    data({
      ...head,
      choices: [{ index: 0, delta, logprobs: null, finish_reason }],
      ...(withUsage && { usage: null }),
    });
  const { content, tool_calls: calls, ...rest } = message;
  return [
    chunk({ ...rest, content: calls ? null : '' }),
    ...(calls ? callDeltas(calls[0]) : wordDeltas(content ?? '')).map((delta) => chunk(delta)),
    chunk({}, finish),
    ...(withUsage ? [data({ ...head, choices: [], usage })] : []),
    'data: [DONE]\n\n',
  ];
}

function wordDeltas(text: string): object[] {
  return (text.match(/^\S+\s|.+/g) ?? []).map((content) => ({ content }));
}

/** The name comes first, and then the arguments in pieces. */
function callDeltas(call: Call): object[] {
  const { name, arguments: text } = call.function;
  const pieces = ['', text.slice(0, 8), text.slice(8)];
  return pieces.map((piece, at) => ({
    tool_calls: [
      at === 0
        ? { index: 0, ...call, function: { name, arguments: '' } }
        : { index: 0, function: { arguments: piece } },
    ],
  }));
}

function data(value: object): string {
  return `data: ${JSON.stringify(value)}\n\n`;
}

import { created, rome } from './completions.ts';

/** A request of the responses format, as far as an answer depends on it. */
export interface AskedResponse {
  model?: string;
  input?: string | readonly { type?: string }[];
  stream?: boolean;
  tools?: readonly { name: string }[];
  text?: { format?: { type: string } };
  [name: string]: unknown;
}

interface Answering {
  id: string;
  model: string;
  text: string;
  usage?: object;
  /** Items before the text. */
  items?: readonly object[] | undefined;
}

const ownUsage = {
  input_tokens: 8,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 13,
};

/** The body of a response, whole or as events. A tool is called until its result is there. */
export function responseBody(
  asked: AskedResponse,
  { id, model, text, usage = ownUsage, items = [] }: Answering,
): string | string[] {
  const said = asked.text?.format === undefined ? text : rome;
  const item = callOf(asked) ?? messageOf(said);
  const head = {
    id,
    object: 'response',
    created_at: created,
    model,
    error: null,
    incomplete_details: null,
    store: false,
  };
  const whole = { ...head, status: 'completed', output: [...items, item], service_tier: 'default', usage };
  if (asked.stream !== true) return JSON.stringify(whole, null, 2);
  const begun = { ...head, status: 'in_progress', output: [], service_tier: 'auto', usage: null };
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...(item.type === 'message' ? messageEvents(item, said) : callEvents(item)),
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ];
  return events.map(
    (event, sequence_number) => `event: ${event.type}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`,
  );
}

function messageOf(text: string) {
  const content = [{ type: 'output_text', annotations: [], logprobs: [], text }];
  return { id: 'msg_1', type: 'message' as const, status: 'completed', role: 'assistant', content };
}

function callOf({ tools, input }: AskedResponse) {
  const last = typeof input === 'string' ? undefined : input?.at(-1);
  const [tool] = tools ?? [];
  if (tool === undefined || last?.type === 'function_call_output') return undefined;
  const called = { name: tool.name, call_id: 'call_rome', arguments: rome };
  return { id: 'fc_1', type: 'function_call' as const, status: 'completed', ...called };
}

function messageEvents({ id, ...item }: ReturnType<typeof messageOf>, text: string): { type: string }[] {
  const place = { item_id: id, output_index: 0, content_index: 0 };
  const part = { type: 'output_text', annotations: [], logprobs: [] };
  const words = text.match(/^\S+\s|.+/g) ?? [];
  return [
    event('response.output_item.added', { output_index: 0, item: { ...item, id, status: 'in_progress', content: [] } }),
    event('response.content_part.added', { ...place, part: { ...part, text: '' } }),
    ...words.map((delta) => event('response.output_text.delta', { ...place, delta, logprobs: [], obfuscation: 'Ks9' })),
    event('response.output_text.done', { ...place, text, logprobs: [] }),
    event('response.content_part.done', { ...place, part: { ...part, text } }),
  ];
}

function callEvents(item: NonNullable<ReturnType<typeof callOf>>): { type: string }[] {
  const place = { item_id: item.id, output_index: 0 };
  const { arguments: text } = item;
  return [
    event('response.output_item.added', { output_index: 0, item: { ...item, status: 'in_progress', arguments: '' } }),
    ...[text.slice(0, 8), text.slice(8)].map((delta) =>
      event('response.function_call_arguments.delta', { ...place, delta }),
    ),
    event('response.function_call_arguments.done', { ...place, arguments: text }),
  ];
}

function event(type: string, fields: object): { type: string } {
  return { type, ...fields };
}
